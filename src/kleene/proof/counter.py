"""Prove an LSTM against a one-counter machine, up to a depth and a length.

A memory that counts drifts: no invariant holds for ever. So boxes of mixtures *and memories* are
followed step by step, one for each configuration of the machine (state and counter) that sequences
reach, split by the nearest centroid and by where the counting unit is. After t rounds they hold
everything that sequences of t symbols can lead to, rounding of float32 included. The proof breaks
at the first length at which, from some point of a box, the class may not be the machine's.

The forget gate reads the memory it multiplies (peephole). sigmoid(a + p c) c is monotone in c where
the gate is saturated, so its two ends bound it; this keeps the drift small.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kleene.automata.counter.machine import CounterMachine
from kleene.automata.symbols import check_same_alphabet
from kleene.data.alphabet import END, FIRST_SYMBOL, START, Alphabet
from kleene.errors import ExtractionError
from kleene.extraction.counter.units import CountingUnit, record_memory, require_memory
from kleene.model import Model
from kleene.proof.bounds import (
    FUNCTION,
    UNIT,
    Array,
    Bounds,
    Interval,
    as_saved,
    linear_range,
    reach,
    sigmoid,
    size,
)
from kleene.proof.certificate import CounterCertificate
from kleene.proof.certify import verified
from kleene.proof.verify import counter_claim, read_machine
from kleene.proof.verify_core import NotProvedError
from kleene.proof.verify_counter import Machine, Place
from kleene.proof.verify_files import COUNTERS

Key: TypeAlias = tuple[Place, int, int]  # configuration, centroid, the unit's count
Boxes: TypeAlias = tuple[dict[Key, int], Interval, Interval]  # numbers, mixtures, memories
MAX_BOXES = 5_000
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
    found = Search(model, read, unit, depth).run(length)
    if found["length"] < length:
        return CounterBound(depth=depth, asked=length, **found)
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
        return CounterBound(depth=depth, asked=length, certificate=outcome, **found)
    refused = {**found, "length": -1, "reason": str(outcome)}
    return CounterBound(depth=depth, asked=length, **refused)


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


class Search:
    """Follows boxes of mixtures and memories along a machine."""

    def __init__(self, model: Model, machine: Machine, unit: CountingUnit, depth: int) -> None:
        self.machine, self.unit, self.depth = machine, unit, depth
        self.rises, self.bounds = machine.rises(), Bounds.of(model)
        self.layer = self.bounds.layers[0]
        self.size = self.layer.S.shape[1]
        peephole = model.network.state_dict().get("rnn.peephole_l0")
        none = np.zeros((3, self.size))
        self.peephole = none if peephole is None else peephole.double().cpu().numpy()
        self.temperature = model.network.rnn.temperature

    def run(self, length: int) -> dict[str, Any]:
        """Follow the boxes until a class is not certain, or the length is reached."""
        boxes, ends = self.start(), {(self.machine.start, 0, 0)}
        reason, found, drift = "the length asked for is reached", length, 0.0
        for t in range(length + 1):
            drift = float(np.ptp(boxes[2], axis=0)[:, self.unit.unit].max())
            hidden = self.layer.recurrent.range(*boxes[1])
            if wrong := self.uncertain(boxes, hidden):
                reason, found = wrong, t - 1
                break
            ends = {after for now in ends for _, after in self.within(now)}
            if not ends:
                reason, found = f"no sequence of this depth has more than {t} symbols", t
                break
            after = self.advance(boxes, hidden)
            if len(after[0]) > MAX_BOXES:
                reason, found = f"more than {MAX_BOXES} boxes", t
                break
            pairs = zip((*after[1], *after[2]), (*boxes[1], *boxes[2]), strict=True)
            if all(np.array_equal(a, b) for a, b in pairs):
                reason = "the boxes are an invariant: it holds of every length"
                break
            boxes = after
        drift /= abs(self.unit.step)
        return {"length": found, "boxes": len(boxes[0]), "drift": drift, "reason": reason}

    def within(self, place: Place) -> list[tuple[int, Place]]:
        """The symbols that stay within the depth, and the configuration after each."""
        return self.machine.within(place, self.depth, self.rises)

    def start(self) -> Boxes:
        """The box after the start token."""
        zero, nothing = self.layer.start(), np.zeros((1, self.size))
        x = self.bounds.x_gates[0][START : START + 1], self.bounds.x_gates[1][START : START + 1]
        u, memory = self.cell(x, (zero[0][None], zero[1][None]), (nothing, nothing))
        lead, alpha = self.mixtures(u)
        return {((self.machine.start, 0, 0), int(lead[0]), 0): 0}, alpha, memory

    def uncertain(self, boxes: Boxes, hidden: Interval) -> str | None:
        """What is wrong if, somewhere in a box, the class may not be the machine's."""
        memory, u = boxes[2], (hidden[0][:, -self.size :], hidden[1][:, -self.size :])
        if self.bounds.end_token:
            x = self.bounds.x_gates[0][END : END + 1], self.bounds.x_gates[1][END : END + 1]
            u, memory = self.cell(x, hidden, boxes[2])
        features = np.hstack([u[0], memory[0]]), np.hstack([u[1], memory[1]])
        head, bias = self.bounds.head, self.bounds.b_head
        terms = reach(features) @ size(head).T + size(bias)
        for ((state, counter, _), _, _), i in boxes[0].items():
            winner = self.machine.class_at(state, counter)
            row = features[0][i], features[1][i]
            worst = linear_range(row, head - head[winner], bias - bias[winner])[1]
            worst = worst + self.layer.slack * (terms[i] + terms[i, winner])
            if not (np.delete(worst, winner) < 0).all():  # nan too
                return f"the class is not certain in state {state} at counter {counter}"
        return None

    def advance(self, boxes: Boxes, hidden: Interval) -> Boxes:
        """Step every box on every symbol, as long as it stays within the depth."""
        symbols = self.machine.adds.shape[2]
        tokens = FIRST_SYMBOL + np.arange(symbols)
        x = self.bounds.x_gates[0][None, tokens], self.bounds.x_gates[1][None, tokens]
        grid = hidden[0][:, None], hidden[1][:, None]
        u, memory = self.cell(x, grid, (boxes[2][0][:, None], boxes[2][1][:, None]))
        counts = np.rint((memory[0] + memory[1])[..., self.unit.unit] / 2 / self.unit.step)
        flat = [end.reshape(-1, self.size) for end in (*u, *memory)]
        lead, alpha = self.mixtures((flat[0], flat[1]))
        index, targets = dict(boxes[0]), np.full(len(lead), -1)
        for (place, _, _), i in boxes[0].items():
            for symbol, after in self.within(place):
                at, count = i * symbols + symbol, counts[i, symbol]
                key = (after, int(lead[at]), int(count) if np.isfinite(count) else 0)
                targets[at] = index.setdefault(key, len(index))
        kept = targets >= 0
        grown = [
            _hulls(old, targets[kept], (new[0][kept], new[1][kept]), len(index))
            for old, new in ((boxes[1], alpha), (boxes[2], (flat[2], flat[3])))
        ]
        return index, grown[0], grown[1]

    def mixtures(self, u: Interval) -> tuple[NDArray[np.int64], Interval]:
        """The centroid nearest to the middle of each box of u, and the box of mixtures."""
        S, middle = self.layer.S, (u[0] + u[1]) / 2
        offsets = (S**2).sum(1) / 2 if self.bounds.similarity == "euclidean" else 0
        lead = (middle @ S.T - offsets).argmax(1)
        lo, hi = np.empty((2, len(lead), len(S)))
        for winner in np.unique(lead):
            at = lead == winner
            gaps = self.bounds.gaps(0, (u[0][at], u[1][at]), int(winner))
            lo[at], hi[at] = self.bounds.probabilities(gaps, int(winner), self.temperature)
        return lead, (lo, hi)

    def cell(self, x: Interval, hidden: Interval, memory: Interval) -> tuple[Interval, Interval]:
        """u and the next memory, from both halves of the pre-activations and the memory."""
        n = self.size
        a = x[0] + hidden[0][..., :-n], x[1] + hidden[1][..., :-n]
        i, f, g, o = ((a[0][..., k : k + n], a[1][..., k : k + n]) for k in range(0, 4 * n, n))
        written = _product(_gate(self.peep(i, 0, memory)), _tanh(g))
        kept = self.kept(f, memory)
        error = 8 * UNIT * (1 + reach(memory))
        after = kept[0] + written[0] - error, kept[1] + written[1] + error
        u = _product(_gate(self.peep(o, 2, after)), _tanh(after))
        return (u[0] - 8 * UNIT, u[1] + 8 * UNIT), after

    def peep(self, a: Interval, gate: int, memory: Interval) -> Interval:
        """A gate's pre-activation with its peephole, a + p c."""
        p = self.peephole[gate]
        ends = p * memory[0], p * memory[1]
        error = self.layer.slack * (reach(ends) + reach(a))
        return a[0] + np.minimum(*ends) - error, a[1] + np.maximum(*ends) + error

    def kept(self, a: Interval, memory: Interval) -> Interval:
        """sigmoid(a + p c) c: by its ends where it is monotone in c, else as a product."""
        p, (low, high) = self.peephole[1], self.peep(a, 1, memory)
        least, most = sigmoid(low), sigmoid(high)
        across = (low < 0) & (high > 0)
        slope = np.where(across, 0.25, np.maximum(least * (1 - least), most * (1 - most)))
        steep = abs(p) * reach(memory) * slope * (1 + self.layer.slack)
        monotone = least - FUNCTION - steep > 0

        def end(c: Array, upper: bool) -> Array:
            grows = (c >= 0) == upper  # the larger gate gives the larger product, or the smaller
            pre = np.where(grows, a[1], a[0]) + p * c
            error = self.layer.slack * (reach((p * c, p * c)) + reach(a))
            gate = sigmoid(pre + np.where(grows, error, -error))
            return np.asarray(np.clip(gate + np.where(grows, FUNCTION, -FUNCTION), 0, 1) * c)

        plain = _product(_gate((low, high)), memory)
        lo = np.where(monotone, np.maximum(end(memory[0], False), plain[0]), plain[0])
        hi = np.where(monotone, np.minimum(end(memory[1], True), plain[1]), plain[1])
        return lo, hi


def _gate(a: Interval) -> Interval:
    lo, hi = sigmoid(a[0]) - FUNCTION, sigmoid(a[1]) + FUNCTION
    return np.clip(lo, 0, 1), np.clip(hi, 0, 1)


def _tanh(a: Interval) -> Interval:
    return np.tanh(a[0]) - FUNCTION, np.tanh(a[1]) + FUNCTION


def _product(gate: Interval, value: Interval) -> Interval:
    """The range of a product whose first factor is not negative."""
    (g0, g1), (v0, v1) = gate, value
    return np.minimum(g0 * v0, g1 * v0), np.maximum(g0 * v1, g1 * v1)


def _hulls(old: Interval, targets: NDArray[np.int64], new: Interval, count: int) -> Interval:
    more = count - len(old[0]), old[0].shape[1]
    lo = np.concatenate([old[0], np.full(more, np.inf)])
    hi = np.concatenate([old[1], np.full(more, -np.inf)])
    np.minimum.at(lo, targets, new[0])
    np.maximum.at(hi, targets, new[1])
    return lo, hi
