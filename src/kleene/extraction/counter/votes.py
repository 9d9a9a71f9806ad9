"""Votes for a one-counter machine: every step of the network says what follows where.

A state of the machine is the latches, alone or with a centroid: values in the memory that stand on
one of two sides of a gap, such as a unit that remembers an error, or two counters that agree until
there is one. What cannot be told from state, view of the counter and symbol is outvoted, and
counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kleene.arrays import Floats, Ints
from kleene.automata.counter.machine import CounterMachine
from kleene.data.alphabet import Alphabet, Ids
from kleene.extraction.counter.units import CountingUnit, MemoryRecord, counters
from kleene.model import Model

MOVES = 3  # pop, rest, push
EXAMPLES = 3  # prefixes by which a move that no word has shown is asked for
GAPS = 2  # places at which a unit may be cut in two


@dataclass(kw_only=True)
class Work:
    """How many votes a search has counted, and how many it may."""

    limit: int
    done: int = 0

    @property
    def is_done(self) -> bool:
        """Whether no more may be counted."""
        return self.done >= self.limit


@dataclass(frozen=True, kw_only=True)
class Latch:
    """One bit of the memory: whether a unit, or the difference of two, is above a threshold."""

    weights: tuple[tuple[int, float], ...]
    """Units, and what each counts for."""
    threshold: float

    def values(self, memory: Floats) -> Floats:
        """What is compared with the threshold, for a memory with its units in the last axis."""
        values: Floats = np.zeros(memory.shape[:-1], dtype=np.float32)
        for unit, weight in self.weights:
            values += memory[..., unit] * np.float32(weight)
        return values

    def __str__(self) -> str:
        return " and ".join(f"unit {unit}" for unit, _ in self.weights)


@dataclass(frozen=True, kw_only=True, eq=False)
class Votes:
    """Steps and prefixes as numbers: what was the case, and what followed."""

    names: tuple[str, ...]
    """One per state: its centroid, and the latches that are above their thresholds."""
    reach: int
    """How far from 0 the counter is seen."""
    places: Ints  # (step,) state and view before the step
    columns: Ints  # (step,) the symbol read
    moves: Ints  # (step,) state and increment after it
    prefix_places: Ints  # (prefix,)
    prefix_labels: Ints  # (prefix,) the network's class
    initial: int

    @property
    def num_states(self) -> int:
        """How many states occur."""
        return len(self.names)

    @property
    def overridden(self) -> int:
        """Steps that go another way than most in the same case."""
        return _majority(self.cases, self.moves)[2]

    @property
    def labels_overridden(self) -> int:
        """Prefixes whose label is not that of most in the same place."""
        return _majority(self.prefix_places, self.prefix_labels)[2]

    @property
    def cases(self) -> Ints:
        """Place and symbol of every step, as one number."""
        return self.places * (int(self.columns.max(initial=0)) + 1) + self.columns

    def machine(self, model: Model) -> tuple[CounterMachine, int]:
        """What the majority says, and how many moves nobody has shown in places that words reach.

        Where nobody voted, state and counter stay.
        """
        symbols = len(model.alphabet.symbols)
        views = 2 * self.reach + 1
        shape = (self.num_states, views, symbols)
        cases = self.places * symbols + self.columns
        transitions = np.broadcast_to(np.arange(self.num_states)[:, None, None], shape).copy()
        increments = np.zeros(shape, dtype=np.int64)
        known, moves, _ = _majority(cases, self.moves)
        transitions.reshape(-1)[known] = moves // MOVES
        increments.reshape(-1)[known] = moves % MOVES - 1
        reached, winners, _ = _majority(self.prefix_places, self.prefix_labels)
        labels = np.zeros(self.num_states * views, dtype=np.int64)
        labels[reached] = winners
        rows = labels.reshape(-1, views).tolist()
        machine = CounterMachine(
            alphabet=model.alphabet.symbols,
            transitions=transitions,
            increments=increments,
            outputs=tuple(tuple(model.classes[i] for i in row) for row in rows),
            initial=self.initial,
            names=self.names,
        )
        return machine, len(reached) * symbols - len(known)


def count_votes(
    record: MemoryRecord, unit: CountingUnit, latches: Sequence[Latch], reach: int
) -> Votes:
    """The votes of all steps of a record."""
    states, names = latched_states(record, latches)
    values = counters(record, unit)
    places = states * (2 * reach + 1) + np.clip(values, -reach, reach) + reach
    at, known = record.steps, record.states >= 0
    return Votes(
        names=names,
        reach=reach,
        places=places[:, :-1][at],
        columns=record.columns[at],
        moves=states[:, 1:][at] * MOVES + np.diff(values, axis=1)[at] + 1,
        prefix_places=places[known],
        prefix_labels=record.labels[known],
        initial=int(np.bincount(states[:, 0]).argmax()) if len(states) else 0,
    )


def latched_states(record: MemoryRecord, latches: Sequence[Latch]) -> tuple[Ints, tuple[str, ...]]:
    """The machine's state at each time, numbered over those that occur, and their names."""
    bits = np.zeros(record.states.shape, dtype=np.int64)
    for number, latch in enumerate(latches):
        bits |= (latch.values(record.memory) > latch.threshold).astype(np.int64) << number
    known = record.states >= 0
    states = np.maximum(record.states, 0) * 2 ** len(latches) + bits
    found = np.unique(states[known])
    names = tuple(_name(*divmod(int(state), 2 ** len(latches))) for state in found)
    return np.where(known, np.searchsorted(found, states), 0), names


def _name(centroid: int, bits: int) -> str:
    marks = "".join("abcdefgh"[i] for i in range(8) if bits >> i & 1)
    return f"{centroid}{marks}"


def best_latch(
    record: MemoryRecord,
    unit: CountingUnit,
    latches: Sequence[Latch],
    reach: int,
    others: Sequence[CountingUnit] = (),
    work: Work | None = None,
) -> tuple[Latch, Votes] | None:
    """The bit that leaves the fewest votes overridden: a unit, or the counter less another one.

    The bit divides the cases and the outcomes of the votes so far, so that these need not be
    counted from the record for every candidate.
    """
    known = record.states >= 0
    numbers = known.cumsum().reshape(known.shape) - 1  # of the prefix of each word and time
    before, after = numbers[:, :-1][record.steps], numbers[:, 1:][record.steps]
    memory = record.memory[known]
    votes = count_votes(record, unit, latches, reach)
    sources: list[tuple[tuple[int, float], ...]] = [
        ((number, 1.0),) for number in range(record.memory.shape[2]) if number != unit.unit
    ]
    sources += [
        ((unit.unit, 1 / unit.step), (other.unit, -1 / other.step))
        for other in others
        if other.unit != unit.unit
    ]
    best, fewest = None, np.inf
    for weights in sources:
        for latch in _cuts(memory, weights):
            if work is not None:
                if work.is_done:
                    break
                work.done += len(votes.moves)
            bit = (latch.values(memory) > latch.threshold).astype(np.int64)
            lost = _majority(votes.cases * 2 + bit[before], votes.moves * 2 + bit[after])[2]
            lost += _majority(votes.prefix_places * 2 + bit, votes.prefix_labels)[2]
            if lost < fewest:
                best, fewest = latch, lost
    return None if best is None else (best, count_votes(record, unit, [*latches, best], reach))


def questions(record: MemoryRecord, votes: Votes, symbols: int) -> list[Ids]:
    """Words that show the moves no word has shown yet, from the places that words reach."""
    shown = set(np.unique(votes.places * symbols + votes.columns).tolist())
    rows, times = np.nonzero(record.states >= 0)
    order = np.argsort(times, kind="stable")
    places = votes.prefix_places[order]
    asked: list[Ids] = []
    for place in np.unique(places).tolist():
        missing = [c for c in range(symbols) if place * symbols + c not in shown]
        if missing:
            for i in order[np.flatnonzero(places == place)[:EXAMPLES]].tolist():
                prefix = record.words[rows[i]][: times[i]]
                asked += [np.append(prefix, Alphabet.ids(column)) for column in missing]
    return asked


def _cuts(memory: Floats, weights: tuple[tuple[int, float], ...]) -> list[Latch]:
    """The middles of the widest gaps between the values that have many on either side."""
    ordered = np.sort(Latch(weights=weights, threshold=0.0).values(memory))
    gaps = np.diff(ordered)
    share = np.arange(1, len(ordered)) / len(ordered)
    best = np.argsort(-gaps * np.minimum(share, 1 - share))[:GAPS]
    return [
        Latch(weights=weights, threshold=float(ordered[i] + gaps[i] / 2))
        for i in best
        if gaps[i] > 1e-6
    ]


def _majority(cases: Ints, outcomes: Ints) -> tuple[Ints, Ints, int]:
    """Every case that occurs, its most frequent outcome, and how many had another one."""
    if not len(cases):
        return cases, outcomes, 0
    width = int(outcomes.max()) + 1
    pairs, counts = np.unique(cases * width + outcomes, return_counts=True)
    order = np.lexsort((counts, pairs // width))
    last = np.flatnonzero(np.diff(pairs[order] // width, append=-1))
    winners = order[last]
    lost = int(counts.sum() - counts[winners].sum())
    return pairs[winners] // width, pairs[winners] % width, lost
