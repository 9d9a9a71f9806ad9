"""Moves between states over a corpus: what is drawn of networks without a small automaton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kleene.data.alphabet import UNKNOWN
from kleene.explain.prototypes import Prototype
from kleene.explain.traces import batched_traces, encode, require_symbols, state_labels
from kleene.machine import Label, Word
from kleene.model import Model


@dataclass(frozen=True, kw_only=True)
class Move:
    """All steps from one state to another, and the symbols that stand out among them."""

    source: int
    target: int
    count: int
    share: float
    """Share of all steps that leave the source."""
    symbols: tuple[Prototype, ...]
    """Each symbol with the mean probability of this move, given the source and the symbol."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The moves of a corpus: state by state, the commonest first."""

    state_labels: tuple[Label | None, ...]
    """The class that each state stands for, or None."""
    visits: tuple[float, ...]
    """The share of all steps that end in each state."""
    moves: tuple[Move, ...]


def summarize(
    model: Model, words: Sequence[Word], *, top: int = 8, min_share: float = 0.01
) -> Summary:
    """Follow the most probable states of the network over a corpus and count its moves.

    A symbol x stands out in the move i -> j by log(1 + n(i, x, j)) log(p(j | i, x) / p(j | i)): it
    must be frequent there, and make the move likelier than it is anyway. Moves with less than
    `min_share` of their source's steps are left out.
    """
    require_symbols(model, "moves")
    symbols, k = len(model.alphabet), model.network.config.num_states
    taken, visits = [np.zeros(0, np.int64)], np.zeros((len(model.classes), k), np.int64)
    for traced in batched_traces(model.network, encode(model, words)):
        row, time = np.nonzero(traced.mask)
        before, after = traced.states[row, time], traced.states[row, time + 1]
        taken.append((before * symbols + traced.ids) * k + after)
        np.add.at(visits, (traced.predicted[row], after), 1)
    steps, counts = np.unique(np.concatenate(taken), return_counts=True)
    pair, target = np.divmod(steps, k)
    source, symbol = np.divmod(pair, symbols)
    between, given = np.zeros((k, k), np.int64), np.bincount(pair, counts)
    np.add.at(between, (source, target), counts)
    leaving = between.sum(1)
    probability = counts / given[pair]
    usual = between[source, target] / leaving[source]
    with np.errstate(divide="ignore"):
        score = np.log1p(counts) * np.log(probability / usual)
    score[symbol <= UNKNOWN] = -np.inf
    moves = []
    for i, j in np.argwhere(between / np.maximum(leaving[:, None], 1) >= max(min_share, 1e-12)):
        mine = np.flatnonzero((source == i) & (target == j) & (score > 0))
        best = mine[np.argsort(-score[mine], kind="stable")[:top]]
        named = zip(model.alphabet.decode(symbol[best]), best.tolist(), strict=True)
        moves.append(
            Move(
                source=int(i),
                target=int(j),
                count=int(between[i, j]),
                share=float(between[i, j] / leaving[i]),
                symbols=tuple(
                    Prototype(symbol=x, mean=float(probability[b]), count=int(counts[b]))
                    for x, b in named
                ),
            )
        )
    return Summary(
        state_labels=state_labels(model, visits),
        visits=tuple((between.sum(0) / max(between.sum(), 1)).tolist()),
        moves=tuple(sorted(moves, key=lambda move: (move.source, -move.count))),
    )
