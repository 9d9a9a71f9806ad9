"""An automaton from traces: by transition counts, or by transition probabilities.

Let a step go from state i on symbol x to state j, the argmax of alpha. Two ways decide the
successor of (i, x), for any cell and any number of layers:

- counts, Algorithm 1 of the paper: the most frequent j;
- mean, the paper's mean transition probability: the j of highest mean max(alpha), the mean over
  the steps that went to j.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Floats, Ints
from kleene.automata import DFA, PFA
from kleene.extraction.words import Target
from kleene.machine import Label, Symbol
from kleene.passes.prefixes import UNLABELLED, StatePaths
from kleene.passes.table import MAX_PROBABILITIES


@dataclass(frozen=True, kw_only=True, eq=False)
class TransitionCounts:
    """The successors of every pair of state and symbol that the words showed."""

    pairs: Ints  # (pair, 2) state and column, sorted
    best: Ints  # (pair,) the next state
    shares: NDArray[np.float64]  # (pair, next state), rows sum to 1
    votes: Ints  # (state, class) prefixes that end in the state and have the class
    paths: StatePaths


def count_transitions(paths: StatePaths) -> TransitionCounts:
    """The most frequent successor (Phi of Algorithm 1)."""
    pairs, which = step_pairs(paths)
    return _transition_counts(paths, pairs, _sum_by_successor(paths, pairs, which))


def max_mean_transitions(paths: StatePaths) -> TransitionCounts:
    """The successor of highest mean max(alpha).

    Phi[i, x, j] is the sum of max(alpha) over the steps from i on x to j.
    """
    pairs, which = step_pairs(paths)
    largest = paths.partition.largest(paths.prefixes.vectors[paths.prefixes.steps])
    phi = _sum_by_successor(paths, pairs, which, largest)
    number = _sum_by_successor(paths, pairs, which)
    return _transition_counts(paths, pairs, phi, phi / np.maximum(number, 1))


def mean_probabilities(paths: StatePaths) -> NDArray[np.float64]:
    """The mean of alpha over all steps of each pair, (pair, next state)."""
    steps = paths.prefixes.steps
    pairs, which = step_pairs(paths)
    if not len(steps):
        return np.zeros((len(pairs), paths.num_states))
    order = np.argsort(which, kind="stable")
    probs = paths.partition.probabilities(paths.prefixes.vectors[steps[order]], paths.keys)
    starts = np.searchsorted(which[order], np.arange(len(pairs)))
    return normalised(np.add.reduceat(probs, starts, axis=0, dtype=np.float64))


def _sum_by_successor(
    paths: StatePaths, pairs: Ints, which: Ints, values: Floats | float = 1
) -> NDArray[np.float64]:
    """The sum of a value per step, (pair, next state)."""
    sums = np.zeros((len(pairs), paths.num_states))
    np.add.at(sums, (which, paths.states[paths.prefixes.steps]), values)
    return sums


def _transition_counts(
    paths: StatePaths,
    pairs: Ints,
    mass: NDArray[np.float64],
    merit: NDArray[np.float64] | None = None,
) -> TransitionCounts:
    """Shares by `mass`; the best successor by `merit`, or else by `mass`."""
    labels = paths.prefixes.labels
    labelled = labels != UNLABELLED
    votes = np.zeros((paths.num_states, int(labels.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(votes, (paths.states[labelled], labels[labelled]), 1)
    shares = normalised(mass)
    return TransitionCounts(
        pairs=pairs,
        best=(shares if merit is None else merit).argmax(axis=1),
        shares=shares,
        votes=votes,
        paths=paths,
    )


def state_outputs(target: Target, counts: TransitionCounts) -> tuple[Label, ...]:
    """The class that the network gives to most prefixes ending in each state.

    If the network pools over time, a state in which no word ends gets the most frequent class.
    """
    votes = counts.votes.copy()
    silent = ~votes.any(axis=1)
    votes[silent] = votes.sum(axis=0)
    return tuple(target.classes[i] for i in votes.argmax(axis=1))


def to_dfa(target: Target, counts: TransitionCounts) -> tuple[DFA, tuple[tuple[str, Symbol], ...]]:
    """The automaton of the best successors, and the pairs that no word showed.

    These pairs lead to an extra state, `sink`, with no way out. The sink rejects if False is a
    class; otherwise it has the network's most frequent class.
    """
    symbols, names = target.alphabet.symbols, counts.paths.names
    outputs = state_outputs(target, counts)
    sink = len(names)
    table = np.full((sink + 1, len(symbols)), sink, dtype=np.int32)
    table[counts.pairs[:, 0], counts.pairs[:, 1]] = counts.best
    never = np.argwhere(table[:sink] == sink)
    if len(never):
        common = target.classes[int(counts.votes.sum(axis=0).argmax())]
        label = next((label for label in target.classes if label is False), common)
        outputs, names = (*outputs, label), (*names, "sink")
    dfa = DFA(alphabet=symbols, transitions=table[: len(outputs)], outputs=outputs, names=names)
    return dfa, tuple((names[state], symbols[column]) for state, column in never)


def to_pfa(target: Target, counts: TransitionCounts) -> PFA | None:
    """The shares as a probabilistic automaton; None if it would be too large to keep."""
    symbols, size = target.alphabet.symbols, counts.paths.num_states
    if size * size * len(symbols) > MAX_PROBABILITIES:
        return None
    transitions = np.zeros((size, len(symbols), size))
    transitions[counts.pairs[:, 0], counts.pairs[:, 1]] = counts.shares
    return PFA(
        alphabet=symbols,
        transitions=transitions,
        initial=np.eye(size)[0],
        outputs=state_outputs(target, counts),
        partial=True,
    )


def step_pairs(paths: StatePaths) -> tuple[Ints, Ints]:
    """The different (state, column) that were stepped from, and the index of each step's pair."""
    steps, width = paths.prefixes.steps, int(paths.prefixes.column.max(initial=0)) + 1
    keys, which = np.unique(
        paths.states[steps - 1] * width + paths.prefixes.column[steps], return_inverse=True
    )
    return np.stack(np.divmod(keys, width), axis=1), which


def normalised(mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows that sum to 1."""
    shares: NDArray[np.float64] = mass / np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
    return shares
