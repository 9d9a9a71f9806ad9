"""Refine an ambiguous reading: split states whose mixtures hide more than their argmax shows.

The prefixes that reach an ambiguous state fall into those that go one way and those that go the
other. The means of their vectors seed a 2-means clustering, the state becomes the two clusters, and
so on until no state is ambiguous.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kleene.arrays import Floats, Ints
from kleene.data.alphabet import Alphabet, Ids
from kleene.extraction.checks.fidelity import prefix_agreement
from kleene.extraction.transitions.counts import count_transitions, step_pairs, to_dfa
from kleene.extraction.transitions.partition import Nearest, Partition, Split, StatePaths, follow
from kleene.extraction.transitions.prefixes import UNLABELLED, read_prefixes
from kleene.model import Model

_ROUNDS, _STATES, _SHOWN = 20, 40, 8
_RARE = 0.005  # share of a state's steps below which another way is taken for noise
_LLOYD = 5
_PAIRS = 2_000  # states x symbols up to which all pairs are looked at


def split_states(
    model: Model, paths: StatePaths, words: Sequence[Ids] = ()
) -> tuple[StatePaths, str]:
    """State paths through split states, and what was split; `words` are those that went wrong.

    It goes on until the automaton agrees with the network on every prefix that was looked at, and
    adds words for states and symbols that none has shown together.
    """
    names: list[str] = []
    most = max(_STATES, 4 * paths.num_states)
    paths = _again(model, paths, words, Split(paths.partition))
    best, best_paths = -1.0, paths
    for _ in range(_ROUNDS):
        agreement = prefix_agreement(
            model, to_dfa(model, count_transitions(paths))[0], paths.prefixes
        )
        if agreement > best:
            best, best_paths = agreement, paths
        more = _uncovered(model, paths)
        partition, split = _split(paths)
        if (agreement == 1 and not more) or paths.num_states > most or not (more or split):
            break
        names += split if agreement < 1 else []
        paths = _again(model, paths, more, partition if agreement < 1 else paths.partition)
    shown = ", ".join(dict.fromkeys(names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
    times = "once" if len(names) == 1 else f"{len(names)} times"
    return best_paths, f"split states by their mixtures, {times}: {shown}"


def _again(
    model: Model, paths: StatePaths, more: Sequence[Ids], partition: Partition
) -> StatePaths:
    """The same words and some more, seen through another partition."""
    prefixes = paths.prefixes
    if more:
        prefixes = read_prefixes(model, [*prefixes.words, *more], hidden=prefixes.hidden)
    return follow(prefixes, partition)


def _split(paths: StatePaths) -> tuple[Split, list[str]]:
    """Every undecided state in two, where its vectors allow it, and the names of those."""
    assert isinstance(paths.partition, Split)
    centres, names = dict(paths.partition.centres), []
    for state, side in _undecided(paths).items():
        key, part = divmod(int(paths.keys[state]), Split.MOST)
        two = _two_means(paths.prefixes.vectors[paths.states == state], side)
        if two is None:
            continue
        names.append(paths.names[state])
        old = centres.get(key, two[:0])
        centres[key] = np.concatenate([np.delete(old, [part] if len(old) else [], 0), two])
    return Split(paths.partition.base, centres), names


def _undecided(paths: StatePaths) -> dict[int, Ints]:
    """States whose prefixes differ in a successor or in their class, and the side of each prefix.

    A side is 0 or 1, or -1 where the prefix does not tell.
    """
    prefixes, steps = paths.prefixes, paths.prefixes.steps
    sides: dict[int, tuple[float, Ints]] = {}

    def consider(entries: Ints, values: Ints) -> None:
        """Keep, for the state of the entries, the most even of all splits in two."""
        kinds, counts = np.unique(values, return_counts=True)
        if len(kinds) < 2:
            return
        two = np.argsort(-counts, kind="stable")[:2]
        evenness = counts[two[1]] / counts.sum()
        state = int(paths.states[entries[0]])
        if evenness < _RARE or evenness <= sides.get(state, (0.0, None))[0]:
            return
        side = np.full(len(prefixes.time), -1, dtype=np.int64)
        side[entries] = np.select([values == kinds[two[0]], values == kinds[two[1]]], [0, 1], -1)
        sides[state] = (float(evenness), side)

    _, which = step_pairs(paths)
    order = np.argsort(which, kind="stable")
    for group in np.split(steps[order], np.flatnonzero(np.diff(which[order])) + 1):
        if len(group):
            consider(group - 1, paths.states[group])
    labelled = np.flatnonzero(prefixes.labels != UNLABELLED)
    for state in range(paths.num_states):
        entries = labelled[paths.states[labelled] == state]
        if len(entries):
            consider(entries, prefixes.labels[entries])
    return {state: side[paths.states == state] for state, (_, side) in sides.items()}


def _two_means(vectors: Floats, side: Ints) -> Floats | None:
    """Two centres, started from the means of the two sides; None where they fall together."""
    centres = np.stack([vectors[side == s].mean(axis=0) for s in (0, 1)])
    for _ in range(_LLOYD):
        nearest = Nearest(centres).read(vectors)
        if len(np.unique(nearest)) < 2:
            return None
        centres = np.stack([vectors[nearest == s].mean(axis=0) for s in (0, 1)])
    return centres


def _uncovered(model: Model, paths: StatePaths) -> list[Ids]:
    """A shortest prefix of every state with each symbol that no word showed after it."""
    symbols = len(model.alphabet.symbols)
    if paths.num_states * symbols > _PAIRS:
        return []
    seen = {tuple(pair) for pair in count_transitions(paths).pairs.tolist()}
    order = np.argsort(paths.prefixes.time, kind="stable")
    _, first = np.unique(paths.states[order], return_index=True)
    return [
        np.append(paths.prefixes.prefix(int(entry)), Alphabet.ids(column))
        for state, entry in enumerate(order[first].tolist())
        for column in range(symbols)
        if (state, column) not in seen
    ]
