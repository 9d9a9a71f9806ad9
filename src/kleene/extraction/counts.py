"""An automaton from traces: by transition counts, or by mean transition probabilities.

Counts (Algorithm 1 of the paper): every step of every word votes for the state it went to, and the
most frequent successor of a state and a symbol is kept. Means: the average probability of each
successor decides instead. Both work for any cell and any number of layers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kleene.automata import DFA, PFA
from kleene.extraction.partition import Argmax, Walks
from kleene.extraction.record import UNTOLD
from kleene.extraction.table import LARGEST
from kleene.extraction.words import Ints
from kleene.machine import Label, Symbol
from kleene.model import Model


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """What followed every state and symbol that the words showed together."""

    pairs: Ints  # (pair, 2) state and column, sorted
    best: Ints  # (pair,) the next state of highest share
    shares: NDArray[np.float64] | None  # (pair, next state), rows sum to 1; None if too many
    votes: Ints  # (state, class) prefixes that end in the state and have the class
    walks: Walks
    words: int
    """How many words were looked at."""


def tally_counts(walks: Walks) -> Tally:
    """The share of each successor among the steps (Phi of Algorithm 1, normalised)."""
    pairs, which = step_pairs(walks)
    counts = np.zeros((len(pairs), walks.num_states))
    np.add.at(counts, (which, walks.states[walks.record.steps]), 1)
    return _tally(walks, pairs, counts)


def tally_means(walks: Walks) -> Tally:
    """The mean probability of each successor; counts where states are not centroids."""
    partition, steps = walks.partition, walks.record.steps
    if not isinstance(partition, Argmax):
        return tally_counts(walks)
    pairs, which = step_pairs(walks)
    order = np.argsort(which, kind="stable")
    probs = partition.probabilities(walks.record.vectors[steps[order]], walks.keys)
    starts = np.searchsorted(which[order], np.arange(len(pairs)))
    sums = np.zeros((len(pairs), walks.num_states))
    if len(steps):
        sums = np.add.reduceat(probs, starts, axis=0, dtype=np.float64)
    return _tally(walks, pairs, sums)


def _tally(walks: Walks, pairs: Ints, mass: NDArray[np.float64]) -> Tally:
    labels = walks.record.labels
    told = labels != UNTOLD
    votes = np.zeros((walks.num_states, int(labels.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(votes, (walks.states[told], labels[told]), 1)
    shares = normalised(mass)
    return Tally(
        pairs=pairs,
        best=shares.argmax(axis=1),
        shares=shares,
        votes=votes,
        walks=walks,
        words=len(walks.record.words),
    )


def state_outputs(model: Model, tally: Tally) -> tuple[Label, ...]:
    """The class that the network gives to most prefixes ending in each state.

    A state in which no word ended, of a network that pools over time, gets the most frequent class.
    """
    votes = tally.votes.copy()
    silent = ~votes.any(axis=1)
    votes[silent] = votes.sum(axis=0)
    return tuple(model.classes[i] for i in votes.argmax(axis=1))


def to_dfa(model: Model, tally: Tally) -> tuple[DFA, tuple[tuple[str, Symbol], ...]]:
    """The automaton of the best successors, and the pairs that no word showed.

    Those lead to one more state, `sink`, which nothing leaves. It rejects where False is a class,
    and has the network's most frequent class otherwise.
    """
    symbols, names = model.alphabet.symbols, tally.walks.names
    outputs = state_outputs(model, tally)
    sink = len(names)
    table = np.full((sink + 1, len(symbols)), sink, dtype=np.int32)
    table[tally.pairs[:, 0], tally.pairs[:, 1]] = tally.best
    never = np.argwhere(table[:sink] == sink)
    if len(never):
        outputs, names = (*outputs, _sink_label(model, tally)), (*names, "sink")
    dfa = DFA(alphabet=symbols, transitions=table[: len(outputs)], outputs=outputs, names=names)
    return dfa, tuple((names[state], symbols[column]) for state, column in never)


def to_pfa(model: Model, tally: Tally) -> PFA | None:
    """The shares as a probabilistic automaton; None where it would be too large to keep."""
    symbols, size = model.alphabet.symbols, tally.walks.num_states
    if tally.shares is None or size * size * len(symbols) > LARGEST:
        return None
    transitions = np.zeros((size, len(symbols), size))
    transitions[tally.pairs[:, 0], tally.pairs[:, 1]] = tally.shares
    return PFA(
        alphabet=symbols,
        transitions=transitions,
        initial=np.eye(size)[0],
        outputs=state_outputs(model, tally),
        partial=True,
    )


def step_pairs(walks: Walks) -> tuple[Ints, Ints]:
    """The different (state, column) that were stepped from, and the index of each step's pair."""
    steps, width = walks.record.steps, int(walks.record.column.max(initial=0)) + 1
    keys, which = np.unique(
        walks.states[steps - 1] * width + walks.record.column[steps], return_inverse=True
    )
    return np.stack(np.divmod(keys, width), axis=1), which


def normalised(mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows that sum to 1."""
    shares: NDArray[np.float64] = mass / np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
    return shares


def _sink_label(model: Model, tally: Tally) -> Label:
    for label in model.classes:
        if label is False:
            return label
    return model.classes[int(tally.votes.sum(axis=0).argmax())]
