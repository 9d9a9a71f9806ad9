"""Read a one-counter machine off the memory of a state-regularised LSTM.

One unit of the memory counts, and some may be latches: bits that the memory keeps. The states are
what the latches say, alone or together with the centroid; often the centroid only mirrors counter
and latches, with exceptions, and the machine without it agrees better. Every step of every word is
a vote for what follows (state, view of the counter, symbol), every prefix a vote for the label of
(state, view of the counter). The machine is what the majority says; the reading tells how many
votes it overrode, how far it agrees with the network, and a short word on which it does not.
Whether the machine is that of a language, for all words, is `machine.difference(language)`.

With peepholes the next state depends on the memory after the step, so the machine must see a
counter of 1 before a pop takes it to 0: its view reaches to 2, or further where a network has
states of its own for counts of 1 or 2. (`minimize()` mostly brings it back to the sign.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.automata.counter.machine import CounterMachine
from kleene.data.alphabet import Ids
from kleene.errors import ReadingError
from kleene.extraction.counter.units import (
    CountingUnit,
    MemoryRecord,
    counting_units,
    record_memory,
    require_memory,
)
from kleene.extraction.counter.votes import (
    Latch,
    Votes,
    Work,
    best_latch,
    count_votes,
    questions,
)
from kleene.extraction.words import all_words, encode_words, spell_ids
from kleene.machine import Word
from kleene.model import Model

Flags: TypeAlias = NDArray[np.bool_]
Run: TypeAlias = Callable[[Sequence[Ids]], MemoryRecord]

MOST_WORDS = 2_000
TRIAL_WORDS = 300  # on which the counter and the latches are chosen
TRIED = 4  # counting units tried with latches: those that leave the fewest votes overridden
COMPARED = 12  # counting units that each of them is compared with, the cleanest
MOST_LATCHES = 3
REACHES = (2, 3, 4)
STARTS = 5  # samples of the words from which the machine is searched for
ROUNDS = 4  # of asking about moves that no word has shown
SHORT_WORDS = 3_000
MOST_VOTES = 80_000_000
"""Votes that the search counts at most: some 20 seconds on an ordinary core."""


@dataclass(frozen=True, kw_only=True)
class CounterReading:
    """The machine, and how far to trust it."""

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
    """Steps of the network that went another way than the machine."""
    unseen: int
    """Moves that no step showed, in places that words reach."""
    words: int
    fidelity: float
    """The share of the words that machine and network give the same label."""
    prefix_fidelity: float
    """The same for all prefixes of the words."""
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
            f"same label on {self.fidelity:.2%} of {self.words:,} words; {last}"
        )


def read_counter(
    model: Model,
    words: Iterable[Word],
    *,
    hard: bool = False,
    seed: int = 0,
    most_votes: int = MOST_VOTES,
) -> CounterReading:
    """The one-counter machine inside a network, read on some words (in hard mode, if wanted).

    Several units may count, and which of them and which latches look best depends on the words at
    hand. So the search starts from several samples of the words, each time without the centroids
    and with them, until a machine agrees with the network wherever it is tried, or `most_votes`
    votes have been counted; else the answer is the one that agrees best.
    """
    require_memory(model)
    encoded = encode_words(model, words)
    work = Work(limit=most_votes)
    readings: list[CounterReading] = []
    for start, centroids in product(range(STARTS), (False, True)):
        readings.append(_read(model, encoded, hard, centroids, seed + start, work))
        if readings[-1].disagreement is None:
            return readings[-1]
        if work.is_done:
            break
    return max(readings, key=lambda reading: reading.prefix_fidelity)


def _record(model: Model, words: Sequence[Ids], *, hard: bool, centroids: bool) -> MemoryRecord:
    """A record of the words; without the centroids there is one state."""
    record = record_memory(model, words, hard=hard)
    return record if centroids else replace(record, states=np.minimum(record.states, 0))


def _read(
    model: Model, encoded: list[Ids], hard: bool, centroids: bool, seed: int, work: Work
) -> CounterReading:
    """The machine that looks best on a sample of the words."""
    run = partial(_record, model, hard=hard, centroids=centroids)
    chosen = np.random.default_rng(seed).permutation(len(encoded))[:MOST_WORDS]
    record = run([encoded[i] for i in chosen])
    units = counting_units(record)
    if not units:
        raise ReadingError(
            "no unit of the memory counts: none changes by -s, 0 or +s; train longer, on a "
            "language that needs counting, or read a finite automaton instead"
        )
    trial = record.first(TRIAL_WORDS)
    choices: list[_Choice] = []
    for reach in REACHES:
        choices.append(_choose(model, trial, units, reach, work))
        if choices[-1].agreement == 1 or work.is_done:
            break
    best = max(choices, key=_merit)
    unit, latches, reach = best.unit, best.latches, best.reach
    votes = count_votes(record, unit, latches, reach)
    for _ in range(ROUNDS):
        asked = questions(record, votes, len(model.alphabet.symbols))
        if not asked:
            break
        record = record.join(run(asked))
        votes = count_votes(record, unit, latches, reach)
    machine, unseen = votes.machine(model)
    same = _agreement(model, machine, record)[: len(chosen)]
    known = record.labels[: len(chosen)] >= 0
    ends = np.arange(len(chosen)), [len(word) for word in record.words[: len(chosen)]]
    return CounterReading(
        machine=machine,
        unit=unit,
        latches=tuple(latches),
        centroids=centroids,
        units=tuple(units),
        votes=len(votes.moves),
        overridden=votes.overridden,
        unseen=unseen,
        words=len(chosen),
        fidelity=float(same[ends].mean()),
        prefix_fidelity=float(same[known].mean()),
        disagreement=_disagreement(model, machine, record, run),
    )


def machine_labels(model: Model, machine: CounterMachine, columns: Ints) -> Ints:
    """The class of every prefix by the machine, (word, time + 1); -1 in a column is padding."""
    states = np.full((len(columns), columns.shape[1] + 1), machine.initial)
    counters = np.zeros_like(states)
    reach = machine.clip
    for t in range(columns.shape[1]):
        state, counter, column = states[:, t], counters[:, t], columns[:, t]
        place = state, np.clip(counter, -reach, reach) + reach, column
        states[:, t + 1] = np.where(column < 0, state, machine.transitions[place])
        counters[:, t + 1] = counter + np.where(column < 0, 0, machine.increments[place])
    ids = {label: i for i, label in enumerate(model.classes)}
    table = np.array([[ids.get(label, -1) for label in row] for row in machine.outputs])
    labels: Ints = table[states, np.clip(counters, -reach, reach) + reach]
    return labels


@dataclass(frozen=True, kw_only=True)
class _Choice:
    """A counting unit, its latches and how far it is seen; and what its machine is worth."""

    unit: CountingUnit
    latches: list[Latch]
    reach: int
    agreement: float
    lost: int


def _merit(choice: _Choice) -> tuple[float, int, int, int]:
    """Agreement with the network first, then simplicity."""
    return choice.agreement, -len(choice.latches), -choice.reach, -choice.lost


def _choose(
    model: Model, record: MemoryRecord, units: list[CountingUnit], reach: int, work: Work
) -> _Choice:
    """The counting unit, and its latches, whose machine agrees best with the network.

    Units that leave the fewest votes overridden come first, so a full agreement ends the search.
    """

    def lost(votes: Votes) -> int:
        return votes.overridden + votes.labels_overridden

    plain = {unit.unit: count_votes(record, unit, [], reach) for unit in units}
    known = record.labels >= 0
    choices = []
    for unit in sorted(units, key=lambda u: lost(plain[u.unit]))[:TRIED]:
        latches: list[Latch] = []
        votes = plain[unit.unit]
        while True:
            same = _agreement(model, votes.machine(model)[0], record)[known]
            choice = _Choice(
                unit=unit,
                latches=latches,
                reach=reach,
                agreement=float(same.mean()),
                lost=lost(votes),
            )
            if choice.agreement == 1:
                return choice
            choices.append(choice)
            if len(latches) == MOST_LATCHES:
                break
            found = best_latch(record, unit, latches, reach, units[:COMPARED], work)
            if found is None:
                break
            latches, votes = [*latches, found[0]], found[1]
    return max(choices, key=_merit)


def _agreement(model: Model, machine: CounterMachine, record: MemoryRecord) -> Flags:
    """Whether machine and network give each prefix the same label; True in the padding."""
    same: Flags = machine_labels(model, machine, record.columns) == record.labels
    return same | (record.labels < 0)


def _disagreement(
    model: Model, machine: CounterMachine, record: MemoryRecord, run: Run
) -> Word | None:
    """Shortest among all short words and all prefixes of the recorded ones."""
    words, _ = all_words(len(model.alphabet.symbols), SHORT_WORDS)
    found = [
        source.words[row][:time]
        for source in (run(words), record)
        for row, time in np.argwhere(~_agreement(model, machine, source)).tolist()
    ]
    return spell_ids(model, min(found, key=len)) if found else None
