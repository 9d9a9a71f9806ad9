"""Votes for a one-counter machine: every step of the network votes for a transition.

A state of the machine is the latches, alone or with a centroid. A latch is a value in the memory on
one of two sides of a gap, such as a unit that remembers an error, or the difference of two counters
that agree until there is an error. The majority overrides steps that state, clipped counter and
symbol do not determine, and these are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kleene.arrays import Floats, Ints
from kleene.automata.counter.machine import CounterMachine
from kleene.data.alphabet import Alphabet, Ids
from kleene.model import Model
from kleene.passes.memory import CountingUnit, counters
from kleene.passes.prefixes import Prefixes

MOVES = 3  # pop, rest, push
EXAMPLES = 3  # prefixes tried for each transition that no word has shown
GAPS = 2  # thresholds tried per unit


@dataclass(kw_only=True)
class Work:
    """How many votes a search has counted, and its limit."""

    limit: int
    done: int = 0

    @property
    def is_done(self) -> bool:
        """Whether the limit is reached."""
        return self.done >= self.limit


@dataclass(frozen=True, kw_only=True)
class Latch:
    """One bit of the memory: whether a unit, or the difference of two, is above a threshold."""

    weights: tuple[tuple[int, float], ...]
    """Units and their weights."""
    threshold: float

    def values(self, memory: Floats) -> Floats:
        """The values that the threshold divides; units are the last axis of the memory."""
        values: Floats = np.zeros(memory.shape[:-1], dtype=np.float32)
        for unit, weight in self.weights:
            values += memory[..., unit] * np.float32(weight)
        return values

    def __str__(self) -> str:
        return " and ".join(f"unit {unit}" for unit, _ in self.weights)


@dataclass(frozen=True, kw_only=True, eq=False)
class Votes:
    """Steps and prefixes as numbers: a case, and its outcome."""

    names: tuple[str, ...]
    """One per state: its centroid, and the latches that are above their thresholds."""
    clip: int
    """The counter is clipped to this distance from 0."""
    places: Ints  # (step,) state and clipped counter before the step
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
        """Steps that differ from the majority in the same case."""
        return majority(self.cases, self.moves)[2]

    @property
    def labels_overridden(self) -> int:
        """Prefixes whose label differs from the majority in the same place."""
        return majority(self.prefix_places, self.prefix_labels)[2]

    @property
    def cases(self) -> Ints:
        """Place and symbol of every step, as one number."""
        return self.places * (int(self.columns.max(initial=0)) + 1) + self.columns

    def machine(self, model: Model) -> tuple[CounterMachine, int]:
        """The machine of the majority, and the number of unseen transitions in reached places.

        Without a vote, state and counter stay.
        """
        symbols = len(model.alphabet.symbols)
        views = 2 * self.clip + 1
        shape = (self.num_states, views, symbols)
        cases = self.places * symbols + self.columns
        transitions = np.broadcast_to(np.arange(self.num_states)[:, None, None], shape).copy()
        increments = np.zeros(shape, dtype=np.int64)
        known, moves, _ = majority(cases, self.moves)
        transitions.reshape(-1)[known] = moves // MOVES
        increments.reshape(-1)[known] = moves % MOVES - 1
        reached, winners, _ = majority(self.prefix_places, self.prefix_labels)
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


def count_votes(record: Prefixes, unit: CountingUnit, latches: Sequence[Latch], clip: int) -> Votes:
    """The votes of all steps of a record."""
    states, names = latched_states(record, latches)
    values = counters(record, unit)
    places = states * (2 * clip + 1) + np.clip(values, -clip, clip) + clip
    steps = record.steps
    return Votes(
        names=names,
        clip=clip,
        places=places[steps - 1],
        columns=record.column[steps],
        moves=states[steps] * MOVES + values[steps] - values[steps - 1] + 1,
        prefix_places=places,
        prefix_labels=record.labels,
        initial=int(np.bincount(states[record.time == 0]).argmax()),
    )


def latched_states(record: Prefixes, latches: Sequence[Latch]) -> tuple[Ints, tuple[str, ...]]:
    """The machine's state at each time, as the number of a state that occurs, and the names."""
    bits = np.zeros_like(record.states)
    for number, latch in enumerate(latches):
        bits |= (latch.values(record.memory) > latch.threshold).astype(np.int64) << number
    found, states = np.unique(record.states * 2 ** len(latches) + bits, return_inverse=True)
    names = tuple(_name(*divmod(int(state), 2 ** len(latches))) for state in found)
    return states, names


def _name(centroid: int, bits: int) -> str:
    marks = "".join("abcdefgh"[i] for i in range(8) if bits >> i & 1)
    return f"{centroid}{marks}"


def best_latch(
    record: Prefixes,
    unit: CountingUnit,
    latches: Sequence[Latch],
    clip: int,
    others: Sequence[CountingUnit] = (),
    work: Work | None = None,
) -> tuple[Latch, Votes] | None:
    """The latch that leaves the fewest votes overridden: a unit, or the difference of two counters.

    A latch divides the cases and outcomes of the votes so far, so the record is counted only once.
    """
    before, after = record.steps - 1, record.steps
    memory = record.memory
    votes = count_votes(record, unit, latches, clip)
    sources: list[tuple[tuple[int, float], ...]] = [
        ((number, 1.0),) for number in range(memory.shape[1]) if number != unit.unit
    ]
    sources += [
        ((unit.unit, 1 / unit.step), (other.unit, -1 / other.step))
        for other in others
        if other.unit != unit.unit
    ]
    best, fewest = None, np.inf
    for weights in sources:
        for latch in cuts(memory, weights):
            if work is not None:
                if work.is_done:
                    break
                work.done += len(votes.moves)
            bit = (latch.values(memory) > latch.threshold).astype(np.int64)
            lost = majority(votes.cases * 2 + bit[before], votes.moves * 2 + bit[after])[2]
            lost += majority(votes.prefix_places * 2 + bit, votes.prefix_labels)[2]
            if lost < fewest:
                best, fewest = latch, lost
    return None if best is None else (best, count_votes(record, unit, [*latches, best], clip))


def questions(record: Prefixes, votes: Votes, symbols: int) -> list[Ids]:
    """Words that show the unseen transitions of the places that words reach."""
    shown = set(np.unique(votes.places * symbols + votes.columns).tolist())
    order = np.argsort(record.time, kind="stable")
    places = votes.prefix_places[order]
    asked: list[Ids] = []
    for place in np.unique(places).tolist():
        missing = [c for c in range(symbols) if place * symbols + c not in shown]
        if missing:
            for entry in order[np.flatnonzero(places == place)[:EXAMPLES]].tolist():
                prefix = record.prefix(entry)
                asked += [np.append(prefix, Alphabet.ids(column)) for column in missing]
    return asked


def cuts(memory: Floats, weights: tuple[tuple[int, float], ...]) -> list[Latch]:
    """Thresholds in the widest gaps between values with many values on both sides."""
    ordered = np.sort(Latch(weights=weights, threshold=0.0).values(memory))
    gaps = np.diff(ordered)
    share = np.arange(1, len(ordered)) / len(ordered)
    best = np.argsort(-gaps * np.minimum(share, 1 - share))[:GAPS]
    return [
        Latch(weights=weights, threshold=float(ordered[i] + gaps[i] / 2))
        for i in best
        if gaps[i] > 1e-6
    ]


def majority(cases: Ints, outcomes: Ints) -> tuple[Ints, Ints, int]:
    """Every case that occurs, its most frequent outcome, and the number of other outcomes."""
    if not len(cases):
        return cases, outcomes, 0
    width = int(outcomes.max()) + 1
    pairs, counts = np.unique(cases * width + outcomes, return_counts=True)
    order = np.lexsort((counts, pairs // width))
    last = np.flatnonzero(np.diff(pairs[order] // width, append=-1))
    winners = order[last]
    lost = int(counts.sum() - counts[winners].sum())
    return pairs[winners] // width, pairs[winners] % width, lost
