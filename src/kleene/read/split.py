"""Mend an ambiguous reading: split states whose mixtures hide more than their argmax shows.

The prefixes that reach an ambiguous state fall into those that go one way and those that go the
other. The means of their vectors seed a 2-means clustering, the state becomes the two clusters, and
so on until no state is ambiguous.
"""

from __future__ import annotations

import numpy as np

from kleene.data.alphabet import Ids
from kleene.model import Model
from kleene.read.counts import step_pairs, tally_counts
from kleene.read.partition import Nearest, Split, Walks, walk
from kleene.read.record import UNTOLD, make_record
from kleene.read.words import FIRST, Floats, Ints

_ROUNDS, _STATES = 30, 200
_RARE = 0.005  # share of a state's steps below which another way is taken for noise
_LLOYD = 5
_COVER = 8


def split_states(model: Model, walks: Walks) -> tuple[Walks, list[str]]:
    """Walks through split states, and what was split; words that show new pairs are added."""
    notes: list[str] = []
    walks = walk(walks.record, Split(walks.partition))
    for _ in range(_COVER):
        walks, told = _split(walks)
        notes += told
        more = _uncovered(model, walks)
        if not more:
            break
        record = make_record(model, [*walks.record.words, *more], hidden=walks.record.hidden)
        walks = walk(record, walks.partition)
    return walks, notes


def _split(walks: Walks) -> tuple[Walks, list[str]]:
    notes: list[str] = []
    for _ in range(_ROUNDS):
        assert isinstance(walks.partition, Split)
        centres = dict(walks.partition.centres)
        before = walks.num_states
        for state, side in _undecided(walks).items():
            key, part = divmod(int(walks.keys[state]), Split.MOST)
            members = walks.record.vectors[walks.states == state]
            two = _two_means(members, side)
            if two is None:
                continue
            name = walks.names[state]
            notes.append(f"split state {name} by the mixtures of {len(members):,} prefixes")
            old = centres.get(key)
            centres[key] = two if old is None else np.concatenate([np.delete(old, part, 0), two])
        walks = walk(walks.record, Split(walks.partition.base, centres))
        if walks.num_states <= before or walks.num_states > _STATES:
            break
    return walks, notes


def _undecided(walks: Walks) -> dict[int, Ints]:
    """States whose prefixes differ in a successor or in their class, and the side of each prefix.

    A side is 0 or 1, or -1 where the prefix does not tell.
    """
    record, steps = walks.record, walks.record.steps
    sides: dict[int, tuple[float, Ints]] = {}

    def consider(entries: Ints, values: Ints) -> None:
        """Keep, for the state of the entries, the most even of all splits in two."""
        kinds, counts = np.unique(values, return_counts=True)
        if len(kinds) < 2:
            return
        two = np.argsort(-counts, kind="stable")[:2]
        evenness = counts[two[1]] / counts.sum()
        state = int(walks.states[entries[0]])
        if evenness < _RARE or evenness <= sides.get(state, (0.0, None))[0]:
            return
        side = np.full(len(record.time), -1, dtype=np.int64)
        side[entries] = np.select([values == kinds[two[0]], values == kinds[two[1]]], [0, 1], -1)
        sides[state] = (float(evenness), side)

    _, which = step_pairs(walks)
    order = np.argsort(which, kind="stable")
    for group in np.split(steps[order], np.flatnonzero(np.diff(which[order])) + 1):
        if len(group):
            consider(group - 1, walks.states[group])
    told = np.flatnonzero(record.labels != UNTOLD)
    for state in range(walks.num_states):
        entries = told[walks.states[told] == state]
        if len(entries):
            consider(entries, record.labels[entries])
    return {state: side[walks.states == state] for state, (_, side) in sides.items()}


def _two_means(vectors: Floats, side: Ints) -> Floats | None:
    """Two centres, started from the means of the two sides; None where they fall together."""
    centres = np.stack([vectors[side == s].mean(axis=0) for s in (0, 1)])
    for _ in range(_LLOYD):
        nearest = Nearest(centres).read(vectors)
        if len(np.unique(nearest)) < 2:
            return None
        centres = np.stack([vectors[nearest == s].mean(axis=0) for s in (0, 1)])
    return centres


def _uncovered(model: Model, walks: Walks) -> list[Ids]:
    """A shortest prefix of every state with each symbol that no word showed after it."""
    symbols = len(model.alphabet.symbols)
    if walks.num_states * symbols > 10 * _STATES:
        return []
    seen = {tuple(pair) for pair in tally_counts(walks).pairs.tolist()}
    order = np.argsort(walks.record.time, kind="stable")
    _, first = np.unique(walks.states[order], return_index=True)
    return [
        np.append(walks.record.prefix(int(entry)), column + FIRST)
        for state, entry in enumerate(order[first].tolist())
        for column in range(symbols)
        if (state, column) not in seen
    ]
