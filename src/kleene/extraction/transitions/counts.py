"""An automaton from traces: by transition counts, or by mean transition probabilities.

Counts (Algorithm 1 of the paper): every step of every word votes for the state it went to, and the
most frequent successor of a state and a symbol is kept. Means: the average probability of each
successor decides instead. Both work for any cell and any number of layers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.automata import DFA, PFA
from kleene.extraction.table import LARGEST
from kleene.extraction.transitions.partition import Argmax, StatePaths
from kleene.extraction.transitions.prefixes import UNLABELLED
from kleene.machine import Label, Symbol
from kleene.model import Model


@dataclass(frozen=True, kw_only=True, eq=False)
class TransitionCounts:
    """What followed every state and symbol that the words showed together."""

    pairs: Ints  # (pair, 2) state and column, sorted
    best: Ints  # (pair,) the next state of highest share
    shares: NDArray[np.float64] | None  # (pair, next state), rows sum to 1; None if too many
    votes: Ints  # (state, class) prefixes that end in the state and have the class
    paths: StatePaths
    words: int
    """How many words were looked at."""


def count_transitions(paths: StatePaths) -> TransitionCounts:
    """The share of each successor among the steps (Phi of Algorithm 1, normalised)."""
    pairs, which = step_pairs(paths)
    counts = np.zeros((len(pairs), paths.num_states))
    np.add.at(counts, (which, paths.states[paths.prefixes.steps]), 1)
    return _transition_counts(paths, pairs, counts)


def mean_transitions(paths: StatePaths) -> TransitionCounts:
    """The mean probability of each successor; counts where states are not centroids."""
    partition, steps = paths.partition, paths.prefixes.steps
    if not isinstance(partition, Argmax):
        return count_transitions(paths)
    pairs, which = step_pairs(paths)
    order = np.argsort(which, kind="stable")
    probs = partition.probabilities(paths.prefixes.vectors[steps[order]], paths.keys)
    starts = np.searchsorted(which[order], np.arange(len(pairs)))
    sums = np.zeros((len(pairs), paths.num_states))
    if len(steps):
        sums = np.add.reduceat(probs, starts, axis=0, dtype=np.float64)
    return _transition_counts(paths, pairs, sums)


def _transition_counts(
    paths: StatePaths, pairs: Ints, mass: NDArray[np.float64]
) -> TransitionCounts:
    labels = paths.prefixes.labels
    labelled = labels != UNLABELLED
    votes = np.zeros((paths.num_states, int(labels.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(votes, (paths.states[labelled], labels[labelled]), 1)
    shares = normalised(mass)
    return TransitionCounts(
        pairs=pairs,
        best=shares.argmax(axis=1),
        shares=shares,
        votes=votes,
        paths=paths,
        words=len(paths.prefixes.words),
    )


def state_outputs(model: Model, counts: TransitionCounts) -> tuple[Label, ...]:
    """The class that the network gives to most prefixes ending in each state.

    A state in which no word ended, of a network that pools over time, gets the most frequent class.
    """
    votes = counts.votes.copy()
    silent = ~votes.any(axis=1)
    votes[silent] = votes.sum(axis=0)
    return tuple(model.classes[i] for i in votes.argmax(axis=1))


def to_dfa(model: Model, counts: TransitionCounts) -> tuple[DFA, tuple[tuple[str, Symbol], ...]]:
    """The automaton of the best successors, and the pairs that no word showed.

    Those lead to one more state, `sink`, which nothing leaves. It rejects where False is a class,
    and has the network's most frequent class otherwise.
    """
    symbols, names = model.alphabet.symbols, counts.paths.names
    outputs = state_outputs(model, counts)
    sink = len(names)
    table = np.full((sink + 1, len(symbols)), sink, dtype=np.int32)
    table[counts.pairs[:, 0], counts.pairs[:, 1]] = counts.best
    never = np.argwhere(table[:sink] == sink)
    if len(never):
        outputs, names = (*outputs, _sink_label(model, counts)), (*names, "sink")
    dfa = DFA(alphabet=symbols, transitions=table[: len(outputs)], outputs=outputs, names=names)
    return dfa, tuple((names[state], symbols[column]) for state, column in never)


def to_pfa(model: Model, counts: TransitionCounts) -> PFA | None:
    """The shares as a probabilistic automaton; None where it would be too large to keep."""
    symbols, size = model.alphabet.symbols, counts.paths.num_states
    if counts.shares is None or size * size * len(symbols) > LARGEST:
        return None
    transitions = np.zeros((size, len(symbols), size))
    transitions[counts.pairs[:, 0], counts.pairs[:, 1]] = counts.shares
    return PFA(
        alphabet=symbols,
        transitions=transitions,
        initial=np.eye(size)[0],
        outputs=state_outputs(model, counts),
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


def _sink_label(model: Model, counts: TransitionCounts) -> Label:
    for label in model.classes:
        if label is False:
            return label
    return model.classes[int(counts.votes.sum(axis=0).argmax())]
