"""Mend an ambiguous reading: split states whose mixtures hide more than their argmax shows.

The prefixes that reach an ambiguous state fall into those that go one way and those that go the
other. The means of their vectors seed a 2-means clustering, the state becomes the two clusters, and
so on until no state is ambiguous.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kleene.data.alphabet import Alphabet, Ids
from kleene.extraction.counts import step_pairs, tally_counts, to_dfa
from kleene.extraction.fidelity import prefix_agreement
from kleene.extraction.partition import Nearest, Partition, Split, Walks, walk
from kleene.extraction.record import UNTOLD, make_record
from kleene.extraction.words import Floats, Ints
from kleene.model import Model

_ROUNDS, _STATES, _SHOWN = 20, 40, 8
_RARE = 0.005  # share of a state's steps below which another way is taken for noise
_LLOYD = 5
_PAIRS = 2_000  # states x symbols up to which all pairs are looked at


def split_states(model: Model, walks: Walks, words: Sequence[Ids] = ()) -> tuple[Walks, str]:
    """Walks through split states, and what was split; `words` are those that went wrong.

    It goes on until the automaton agrees with the network on every prefix that was looked at, and
    adds words for states and symbols that none has shown together.
    """
    names: list[str] = []
    most = max(_STATES, 4 * walks.num_states)
    walks = _again(model, walks, words, Split(walks.partition))
    best, best_walks = -1.0, walks
    for _ in range(_ROUNDS):
        agreement = prefix_agreement(model, to_dfa(model, tally_counts(walks))[0], walks.record)
        if agreement > best:
            best, best_walks = agreement, walks
        more = _uncovered(model, walks)
        partition, split = _split(walks)
        if (agreement == 1 and not more) or walks.num_states > most or not (more or split):
            break
        names += split if agreement < 1 else []
        walks = _again(model, walks, more, partition if agreement < 1 else walks.partition)
    shown = ", ".join(dict.fromkeys(names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
    times = "once" if len(names) == 1 else f"{len(names)} times"
    return best_walks, f"split states by their mixtures, {times}: {shown}"


def _again(model: Model, walks: Walks, more: Sequence[Ids], partition: Partition) -> Walks:
    """The same words and some more, seen through another partition."""
    record = walks.record
    if more:
        record = make_record(model, [*record.words, *more], hidden=record.hidden)
    return walk(record, partition)


def _split(walks: Walks) -> tuple[Split, list[str]]:
    """Every undecided state in two, where its vectors allow it, and the names of those."""
    assert isinstance(walks.partition, Split)
    centres, names = dict(walks.partition.centres), []
    for state, side in _undecided(walks).items():
        key, part = divmod(int(walks.keys[state]), Split.MOST)
        two = _two_means(walks.record.vectors[walks.states == state], side)
        if two is None:
            continue
        names.append(walks.names[state])
        old = centres.get(key, two[:0])
        centres[key] = np.concatenate([np.delete(old, [part] if len(old) else [], 0), two])
    return Split(walks.partition.base, centres), names


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
    if walks.num_states * symbols > _PAIRS:
        return []
    seen = {tuple(pair) for pair in tally_counts(walks).pairs.tolist()}
    order = np.argsort(walks.record.time, kind="stable")
    _, first = np.unique(walks.states[order], return_index=True)
    return [
        np.append(walks.record.prefix(int(entry)), Alphabet.ids(column))
        for state, entry in enumerate(order[first].tolist())
        for column in range(symbols)
        if (state, column) not in seen
    ]
