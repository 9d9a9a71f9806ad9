"""Prove an LSTM against a one-counter machine, up to a depth and a length.

The boxes of such a proof drift with every symbol, so there is nothing to search for and nothing to
store: the prover finds the unit of the memory that counts, and the verifier computes the boxes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from kleene.automata.counter.machine import CounterMachine
from kleene.automata.symbols import check_same_alphabet
from kleene.data.alphabet import Alphabet
from kleene.errors import ExtractionError
from kleene.model import Model
from kleene.passes.memory import CountingUnit, record_memory, require_memory
from kleene.proof.bounds import as_saved
from kleene.proof.certificate import CounterCertificate
from kleene.proof.certify import verified
from kleene.proof.verify import counter_claim, read_machine
from kleene.proof.verify_core import NotProvedError
from kleene.proof.verify_counter import Place, class_margin, families
from kleene.proof.verify_files import COUNTERS

FINDING_WORDS, FINDING_LENGTH = 200, 30


@dataclass(frozen=True, kw_only=True)
class CounterBound:
    """How far network and machine provably agree."""

    depth: int
    """How far the machine's counter may get from 0; `verify_counter` says what that means."""
    length: int
    """Every such sequence of at most so many symbols gets the machine's label; -1: none does."""
    asked: int
    """The length that was asked for."""
    boxes: int
    drift: float
    """The widest box of the counting unit, in steps of the counter."""
    reason: str
    certificate: CounterCertificate | None = None
    """The verified proof; None if it does not go as far as it was asked to."""

    @property
    def reached(self) -> bool:
        """Whether the proof went as far as it was asked to, and the verifier accepts it."""
        return self.certificate is not None

    def __str__(self) -> str:
        if self.certificate is not None:
            return f"{self.certificate}; drift {self.drift:.3g} steps"
        return (
            f"not proved: network and machine provably agree on every sequence of depth up to "
            f"{self.depth} and length up to {self.length} only ({self.boxes} boxes, drift "
            f"{self.drift:.3g} steps): {self.reason}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "holds": self.reached,
            **{k: v for k, v in vars(self).items() if k != "certificate"},
        }


def counter_bound(
    model: Model,
    machine: CounterMachine,
    unit: CountingUnit | None = None,
    *,
    depth: int = 20,
    length: int = 1000,
) -> CounterBound:
    """The largest length, up to `length`, at which network and machine provably agree.

    The unit of the memory that counts decides how boxes are split, not what is true; without it,
    `find_counter` looks for it.
    """
    require_memory(model)
    saved = as_saved(model, COUNTERS)
    document = json.loads(machine.to_json())
    check_same_alphabet(model.alphabet.symbols, machine.alphabet)
    try:
        read = read_machine(saved, document)
        rises = read.rises()
    except NotProvedError as error:
        raise ExtractionError(f"no proof of this machine: {error}") from None
    unit = unit or find_counter(model, machine)
    reached, reason, boxes, drift = -1, "the length asked for is reached", 0, 0.0
    try:
        with np.errstate(all="ignore"):  # nan is inside no box
            rounds = families(saved.network, read, depth, unit.unit, unit.step)
            for t, family in enumerate(islice(rounds, length + 1)):
                class_margin(saved.network, read, family)
                boxes, widths = len(family.places), np.ptp(family.memory, axis=0)[:, unit.unit]
                reached, drift = t, float(widths.max() / abs(unit.step))
    except NotProvedError as error:
        reason = str(error)
    bound = CounterBound(
        depth=depth, length=reached, asked=length, boxes=boxes, drift=drift, reason=reason
    )
    if reached < length:
        return bound
    certificate = CounterCertificate(
        claim=counter_claim({"depth": depth, "length": length}),
        temperatures=tuple(saved.temperatures),
        model_sha256=saved.digest,
        machine=machine,
        depth=depth,
        length=length,
        rises=None if rises is None else tuple(rises.tolist()),
        unit=unit.unit,
        step=unit.step,
    )
    outcome = verified(model, certificate)
    if isinstance(outcome, CounterCertificate):
        return replace(bound, certificate=outcome)
    return replace(bound, length=-1, reason=str(outcome))


def find_counter(model: Model, machine: CounterMachine) -> CountingUnit:
    """The unit of the memory that is nearest to a multiple of the depth, on random words."""
    read = read_machine(as_saved(model, COUNTERS), json.loads(machine.to_json()))
    rises, random = read.rises(), np.random.default_rng(0)
    moving = np.flatnonzero(read.adds.any((0, 1)) if rises is None else rises)
    drawn = random.choice(moving, (FINDING_WORDS, FINDING_LENGTH))
    other = random.random(drawn.shape) < 0.5
    drawn[other] = random.integers(0, read.adds.shape[2], int(other.sum()))
    record = record_memory(model, list(Alphabet.ids(drawn)))
    heights = []
    for word in drawn.tolist():
        place: Place = (read.start, 0, 0)
        heights.append(0)
        for symbol in word:
            place = read.after(place, symbol, rises)
            heights.append(place[2])
    height = np.array(heights, np.float64)
    memory = record.memory.reshape(len(height), -1).astype(np.float64)
    steps = height @ memory / max(float(height @ height), 1.0)
    off = np.sqrt(((memory - height[:, None] * steps) ** 2).mean(0)) / np.maximum(abs(steps), 1e-9)
    unit = int(off.argmin())
    return CountingUnit(unit=unit, step=float(steps[unit]), noise=float(off[unit]))
