"""The one-counter machine in the memory of a state-regularised LSTM.

One unit of the memory counts, and some may be latches: bits that the memory keeps. The states of
the machine are the latches, alone or together with the centroid; often the centroid only mirrors
counter and latches, with exceptions, and the machine without it agrees better. Every step of every
word is a vote for the successor of (state, clipped counter, symbol), every prefix a vote for the
label of (state, clipped counter), and the majority decides. Whether the machine is that of a
language, for all words, is `machine.difference(language)`.

With peepholes the next state depends on the memory after the step, so the machine must see a
counter of 1 before a pop takes it to 0: the counter is clipped at 2, or further out if a network
has states of its own for counts of 1 or 2. (`minimize()` mostly brings it back to the sign.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.automata.counter.machine import CounterMachine
from kleene.data.alphabet import Ids
from kleene.errors import ExtractionError
from kleene.evaluation.percent import percent
from kleene.extraction.counter.votes import Latch, Votes, Work, best_latch, count_votes, questions
from kleene.extraction.words import all_words, encode_words, spell_ids
from kleene.machine import Word
from kleene.model import Model
from kleene.passes.memory import (
    CountingUnit,
    counting_units,
    record_memory,
    require_memory,
)
from kleene.passes.prefixes import Prefixes

Run: TypeAlias = Callable[[Sequence[Ids]], Prefixes]

MAX_WORDS = 2_000
TRIAL_WORDS = 300  # words on which the counter and the latches are chosen
TRIED_UNITS = 4  # counting units tried with latches: those with the fewest overridden votes
COMPARED_UNITS = 12  # the cleanest counting units, compared with each of them
MAX_LATCHES = 3
CLIPS = (2, 3, 4)
STARTS = 5  # samples of the words from which the search starts
ROUNDS = 4  # rounds of questions about unseen transitions
SHORT_WORDS = 3_000
MAX_VOTES = 80_000_000
"""Limit of the search, in counted votes: some 20 seconds on an ordinary core."""


@dataclass(frozen=True, kw_only=True)
class MemoryCounter:
    """A one-counter machine, and how far to trust it."""

    machine: CounterMachine
    """As voted; `machine.minimize()` is easier to look at."""
    unit: CountingUnit
    latches: tuple[Latch, ...]
    centroids: bool
    """Whether the states are centroids with latches, or latches alone."""
    units: tuple[CountingUnit, ...]
    """All units that count, the cleanest first."""
    votes: int
    overridden: int
    """Steps of the network that differ from the machine."""
    unseen: int
    """Transitions that no step showed, in places that words reach."""
    words: int
    fidelity: float
    """The share of the words that machine and network give the same label."""
    prefix_fidelity: float
    """The share of the prefixes that machine and network give the same label."""
    disagreement: Word | None
    """The shortest word found on which the two differ: all short words and prefixes are tried."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; the machine as its own document."""
        return asdict(self) | {"machine": json.loads(self.machine.to_json())}

    def __str__(self) -> str:
        latched = "".join(f", a latch in {latch}" for latch in self.latches)
        last = "no disagreement found"
        if self.disagreement is not None:
            last = f"no one-counter machine found agrees; this one not on {self.disagreement!r:.60}"
        return (
            f"{self.machine.minimize().num_states} states, a counter in memory unit "
            f"{self.unit.unit} (step {self.unit.step:.3f}, noise {self.unit.noise:.3f}){latched}; "
            f"{self.overridden:,} of {self.votes:,} steps overridden; "
            f"same label on {percent(self.fidelity)} of {self.words:,} words; {last}"
        )


def extract_counter(
    model: Model,
    words: Iterable[Word],
    *,
    hard: bool = False,
    seed: int = 0,
    max_votes: int = MAX_VOTES,
) -> MemoryCounter:
    """The one-counter machine inside a network along some words, in soft or hard mode.

    Several units may count, and which unit and latches look best depends on the words. So the
    search starts from several samples of the words, each without and with the centroids, until a
    machine agrees with the network wherever it is tried, or `max_votes` votes have been counted;
    then the answer is the machine that agrees best.
    """
    require_memory(model)
    encoded = encode_words(model, words)
    work = Work(limit=max_votes)
    found: list[MemoryCounter] = []
    for start, centroids in product(range(STARTS), (False, True)):
        found.append(_extract(model, encoded, hard, centroids, seed + start, work))
        if found[-1].disagreement is None:
            return found[-1]
        if work.is_done:
            break
    return max(found, key=lambda counter: counter.prefix_fidelity)


def _extract(
    model: Model, encoded: list[Ids], hard: bool, centroids: bool, seed: int, work: Work
) -> MemoryCounter:
    """The machine that looks best on a sample of the words."""

    def run(words: Sequence[Ids]) -> Prefixes:
        """A record of the words; without the centroids there is one state."""
        record = record_memory(model, words, hard=hard)
        return record if centroids else replace(record, states=np.zeros_like(record.states))

    order = np.random.default_rng(seed).permutation(len(encoded))[:MAX_WORDS]
    chosen = [encoded[i] for i in order]
    record = run(chosen)
    units = counting_units(record)
    if not units:
        raise ExtractionError(
            "no unit of the memory counts: none changes by -s, 0 or +s; train longer, on a "
            "language that needs counting, or extract a finite automaton instead"
        )
    unit, latches, clip = _choose(model, run(chosen[:TRIAL_WORDS]), units, work)
    votes = count_votes(record, unit, latches, clip)
    for _ in range(ROUNDS):
        asked = questions(record, votes, len(model.alphabet.symbols))
        if not asked:
            break
        record = run([*record.words, *asked])
        votes = count_votes(record, unit, latches, clip)
    machine, unseen = votes.machine(model)
    same = _agreement(model, machine, record)
    return MemoryCounter(
        machine=machine,
        unit=unit,
        latches=tuple(latches),
        centroids=centroids,
        units=tuple(units),
        votes=len(votes.moves),
        overridden=votes.overridden,
        unseen=unseen,
        words=len(chosen),
        fidelity=float(same[record.ends[: len(chosen)]].mean()),
        prefix_fidelity=float(same[record.word < len(chosen)].mean()),
        disagreement=_disagreement(model, machine, record, run),
    )


def machine_labels(model: Model, machine: CounterMachine, record: Prefixes) -> Ints:
    """The class of every prefix by the machine, (prefix,)."""
    states, clip = np.full(len(record.time), machine.initial), machine.clip
    counters = np.zeros_like(states)
    order = np.argsort(record.time, kind="stable")
    for now in np.split(order, np.flatnonzero(np.diff(record.time[order])) + 1)[1:]:
        before = states[now - 1], np.clip(counters[now - 1], -clip, clip) + clip, record.column[now]
        states[now] = machine.transitions[before]
        counters[now] = counters[now - 1] + machine.increments[before]
    ids = model.class_ids
    table = np.array([[ids.get(label, -1) for label in row] for row in machine.outputs])
    labels: Ints = table[states, np.clip(counters, -clip, clip) + clip]
    return labels


def _choose(
    model: Model, record: Prefixes, units: list[CountingUnit], work: Work
) -> tuple[CountingUnit, list[Latch], int]:
    """The counting unit, latches and clip whose machine agrees best with the network.

    Of equal ones the simplest wins. Units that leave the fewest votes overridden come first, so a
    full agreement ends the search.
    """

    def lost(votes: Votes) -> int:
        return votes.overridden + votes.labels_overridden

    best, merit = (units[0], list[Latch](), CLIPS[0]), (-1.0, 0, 0, 0)
    for clip in CLIPS:
        plain = {unit.unit: count_votes(record, unit, [], clip) for unit in units}
        for unit in sorted(units, key=lambda u: lost(plain[u.unit]))[:TRIED_UNITS]:
            latches: list[Latch] = []
            votes = plain[unit.unit]
            while True:
                agreement = float(_agreement(model, votes.machine(model)[0], record).mean())
                found = (agreement, -len(latches), -clip, -lost(votes))
                if found > merit:
                    best, merit = (unit, latches, clip), found
                if agreement == 1:
                    return best
                if len(latches) == MAX_LATCHES:
                    break
                more = best_latch(record, unit, latches, clip, units[:COMPARED_UNITS], work)
                if more is None:
                    break
                latches, votes = [*latches, more[0]], more[1]
        if work.is_done:
            break
    return best


def _agreement(model: Model, machine: CounterMachine, record: Prefixes) -> NDArray[np.bool_]:
    """Whether machine and network give each prefix the same label."""
    same: NDArray[np.bool_] = machine_labels(model, machine, record) == record.labels
    return same


def _disagreement(model: Model, machine: CounterMachine, record: Prefixes, run: Run) -> Word | None:
    """The shortest differing word among all short words and all prefixes of the recorded words."""
    words, _ = all_words(len(model.alphabet.symbols), SHORT_WORDS)
    found = [
        source.prefix(entry)
        for source in (run(words), record)
        for entry in np.flatnonzero(~_agreement(model, machine, source)).tolist()
    ]
    return spell_ids(model, min(found, key=len)) if found else None
