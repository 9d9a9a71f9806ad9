"""Read a one-counter machine off the memory of a state-regularised LSTM.

One unit of the memory counts; the states are the centroids. Every step of every word is a vote for
what follows (state, sign of the counter, symbol), every prefix a vote for the label of (state, sign
of the counter). The machine is what the majority says; the reading tells how many votes it
overrode, how far it agrees with the network, and a short word on which it does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kleene.automata.counter import SIGNS, CounterMachine
from kleene.data.alphabet import Ids
from kleene.errors import ReadingError
from kleene.machine import Word
from kleene.model import Model
from kleene.read.memory import (
    CountingUnit,
    MemoryRecord,
    counters,
    counting_units,
    record_memory,
    require_memory,
)
from kleene.read.words import FIRST, Ints, all_words, encode_words, spell_ids

Flags: TypeAlias = NDArray[np.bool_]

MOST_WORDS = 2_000
TRIED = 12  # counting units that are tried, the cleanest first
ROUNDS = 4  # of asking about moves that no word has shown
EXAMPLES = 3  # prefixes by which such a move is asked for
SHORT_WORDS = 3_000


@dataclass(frozen=True, kw_only=True)
class CounterReading:
    """The machine, and how far to trust it."""

    machine: CounterMachine
    """As voted, a state per centroid; `machine.minimize()` is easier to look at."""
    unit: CountingUnit
    units: tuple[CountingUnit, ...]
    """All units that count, the cleanest first."""
    votes: int
    overridden: int
    """Steps of the network that went another way than the machine."""
    unseen: int
    """Entries of the table, in places that words reach, which no vote decided."""
    words: int
    fidelity: float
    """The share of the words that machine and network give the same label."""
    prefix_fidelity: float
    """The same for all prefixes of the words."""
    disagreement: Word | None
    """The shortest word found on which the two differ, prefixes and all short words tried."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; the machine as its own document."""
        import json

        return {
            "machine": json.loads(self.machine.to_json()),
            "unit": vars(self.unit),
            "units": [vars(unit) for unit in self.units],
            **{name: getattr(self, name) for name in ("votes", "overridden", "unseen", "words")},
            "fidelity": self.fidelity,
            "prefix_fidelity": self.prefix_fidelity,
            "disagreement": self.disagreement,
        }

    def __str__(self) -> str:
        small = self.machine.minimize()
        told = f"{self.overridden:,} of {self.votes:,} steps overridden"
        last = "no disagreement found"
        if self.disagreement is not None:
            last = f"a disagreement: {self.disagreement!r:.60}"
        return (
            f"{small.num_states} states and a counter in memory unit {self.unit.unit} "
            f"(step {self.unit.step:.3f}, noise {self.unit.noise:.3f}); {told}; "
            f"same label on {self.fidelity:.2%} of {self.words:,} words; {last}"
        )


def read_counter(
    model: Model, words: Iterable[Word], *, hard: bool = False, seed: int = 0
) -> CounterReading:
    """The one-counter machine inside a network, read on some words (in hard mode, if wanted).

    Several units may count. Each of the cleanest gives a machine, and the one that agrees best
    with the network on all prefixes is the answer.
    """
    require_memory(model)
    encoded = encode_words(model, words)
    if len(encoded) > MOST_WORDS:
        chosen = np.random.default_rng(seed).choice(len(encoded), MOST_WORDS, replace=False)
        encoded = [encoded[i] for i in chosen]
    record = record_memory(model, encoded, hard=hard)
    units = counting_units(record)
    if not units:
        raise ReadingError(
            "no unit of the memory counts: none changes by -s, 0 or +s; train longer, on a "
            "language that needs counting, or read a finite automaton instead"
        )
    readings = [_read(model, record, unit, units, hard) for unit in units[:TRIED]]
    return max(readings, key=lambda r: (r.prefix_fidelity, -r.overridden, -r.unit.noise))


def run_counters(machine: CounterMachine, columns: Ints) -> tuple[Ints, Ints]:
    """States and counters along many words at once, (word, time + 1); the last ones repeat."""
    states = np.full((len(columns), columns.shape[1] + 1), machine.initial)
    values = np.zeros_like(states)
    for t in range(columns.shape[1]):
        here, value, column = states[:, t], values[:, t], columns[:, t]
        place = here, np.sign(value) + 1, column
        states[:, t + 1] = np.where(column < 0, here, machine.transitions[place])
        values[:, t + 1] = value + np.where(column < 0, 0, machine.increments[place])
    return states, values


def machine_labels(model: Model, machine: CounterMachine, columns: Ints) -> Ints:
    """The class of every prefix by the machine, (word, time + 1)."""
    states, values = run_counters(machine, columns)
    ids = {label: i for i, label in enumerate(model.classes)}
    table = np.array([[ids.get(label, -1) for label in row] for row in machine.outputs])
    return np.asarray(table[states, np.sign(values) + 1])


def _read(
    model: Model, record: MemoryRecord, unit: CountingUnit, units: list[CountingUnit], hard: bool
) -> CounterReading:
    votes = _Votes(model)
    votes.add(record, unit)
    for _ in range(ROUNDS):
        questions = votes.questions()
        if not questions:
            break
        votes.add(record_memory(model, questions, hard=hard), unit)
    machine = votes.machine()
    labels = machine_labels(model, machine, record.columns)
    known = record.labels >= 0
    same = (labels == record.labels) | ~known
    ends = np.arange(len(record.words)), [len(word) for word in record.words]
    return CounterReading(
        machine=machine,
        unit=unit,
        units=tuple(units),
        votes=int(votes.moves.sum()),
        overridden=int(votes.moves.sum() - votes.moves.max(-1).sum()),
        unseen=votes.unseen(),
        words=len(record.words),
        fidelity=float(same[ends].mean()),
        prefix_fidelity=float(same[known].mean()),
        disagreement=_disagreement(model, machine, record, same, hard),
    )


def _disagreement(
    model: Model, machine: CounterMachine, record: MemoryRecord, same: Flags, hard: bool
) -> Word | None:
    """Shortest among all short words and all prefixes of the given words."""
    short = record_memory(
        model, all_words(len(model.alphabet.symbols), SHORT_WORDS)[0], hard=hard
    )
    short_same = machine_labels(model, machine, short.columns) == short.labels
    found = [
        source.words[row][:time]
        for source, agree in ((short, short_same | (short.labels < 0)), (record, same))
        for row, time in np.argwhere(~agree).tolist()
    ]
    return spell_ids(model, min(found, key=len)) if found else None


class _Votes:
    """Counts of what followed each place, a pair of state and sign of the counter."""

    def __init__(self, model: Model) -> None:
        self.model = model
        states, symbols = model.network.rnn.num_states, len(model.alphabet.symbols)
        self.moves = np.zeros((states, len(SIGNS), symbols, states * len(SIGNS)), dtype=np.int64)
        self.labels = np.zeros((states, len(SIGNS), len(model.classes)), dtype=np.int64)
        self.starts = np.zeros(states, dtype=np.int64)
        self.examples: dict[tuple[int, int], list[Ids]] = {}

    def add(self, record: MemoryRecord, unit: CountingUnit) -> None:
        """Count every step and every prefix of a record."""
        values = counters(record, unit)
        signs = np.sign(values) + 1
        at = record.steps
        before, after = record.states[:, :-1][at], record.states[:, 1:][at]
        increment = np.diff(values, axis=1)[at]
        moved = after * len(SIGNS) + increment + 1
        np.add.at(self.moves, (before, signs[:, :-1][at], record.columns[at], moved), 1)
        known = record.states >= 0
        np.add.at(self.labels, (record.states[known], signs[known], record.labels[known]), 1)
        np.add.at(self.starts, record.states[:, 0], 1)
        self._keep_examples(record, signs, known)

    def _keep_examples(self, record: MemoryRecord, signs: Ints, known: Flags) -> None:
        """Short prefixes that lead to each place."""
        rows, times = np.nonzero(known)
        places = record.states[known] * len(SIGNS) + signs[known]
        order = np.argsort(times, kind="stable")
        for place in np.unique(places):
            kept = self.examples.setdefault(divmod(int(place), len(SIGNS)), [])
            for i in order[places[order] == place][: EXAMPLES - len(kept)]:
                kept.append(record.words[rows[i]][: times[i]])

    def questions(self) -> list[Ids]:
        """Words that show the moves which no word has shown, from the places that words reach."""
        seen = self.moves.any(-1)
        return [
            np.append(prefix, column + FIRST)
            for (state, sign), prefixes in self.examples.items()
            for column in np.flatnonzero(~seen[state, sign]).tolist()
            for prefix in prefixes
        ]

    def unseen(self) -> int:
        """Moves that are still unknown, in places that words reach."""
        return sum(int((~self.moves[place].any(-1)).sum()) for place in self.examples)

    def machine(self) -> CounterMachine:
        """What the majority says; where nobody voted, state and counter stay."""
        chosen = self.moves.argmax(-1)
        seen = self.moves.any(-1)
        stay = np.arange(len(chosen))[:, None, None]
        labels = self.labels.argmax(-1)
        return CounterMachine(
            alphabet=self.model.alphabet.symbols,
            transitions=np.where(seen, chosen // len(SIGNS), stay),
            increments=np.where(seen, chosen % len(SIGNS) - 1, 0),
            outputs=tuple(tuple(self.model.classes[i] for i in row) for row in labels),  # type: ignore[misc]
            initial=int(self.starts.argmax()),
        )
