"""White boxes: automata from clusters of a network's hidden vectors.

Too few clusters join prefixes that must be told apart, and no refinement finds its way back; so
there are many clusters first, and fewer states by merging afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kleene.adapt.protocol import WhiteBox
from kleene.arrays import Floats, Ints
from kleene.automata import DFA
from kleene.data.alphabet import Alphabet, Ids
from kleene.external.network import ExternalNetwork
from kleene.kmeans import cluster_centres

SIZES = (8, 16, 32, 64, 128)
_PREFIXES = 30_000
_VECTORS = 6_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Steps:
    """Hidden vectors of prefixes, and which prefix each one extends by which symbol."""

    vectors: Floats  # (prefix, size)
    labels: Ints  # (prefix,)
    parent: Ints  # (prefix,) -1 for the empty prefix
    column: Ints  # (prefix,) the symbol read last


def record_steps(network: ExternalNetwork, box: WhiteBox, words: Sequence[Ids]) -> Steps:
    """Run words side by side, a symbol at a time; every different prefix is run once."""
    symbols = network.alphabet.symbols
    vectors = [box.hidden([()])]
    parent, column = [np.array([-1])], [np.array([-1])]
    here = np.zeros(len(words), dtype=np.int64)  # the prefix at which each word is
    alive, total = list(range(len(words))), 1
    for t in range(max(map(len, words), default=0)):
        alive = [i for i in alive if len(words[i]) > t]
        if total > _PREFIXES or not alive:
            break
        columns = Alphabet.columns(np.array([words[i][t] for i in alive]))
        pairs, which = np.unique(here[alive] * len(symbols) + columns, return_inverse=True)
        before, read = np.divmod(pairs, len(symbols))
        offset = total - len(vectors[-1])  # all prefixes of the last round stand at its end
        after = np.empty((len(pairs), vectors[0].shape[1]), dtype=np.float32)
        for c in np.unique(read).tolist():
            same = read == c
            after[same] = box.step(vectors[-1][before[same] - offset], symbols[c])
        here[alive] = total + which
        vectors.append(after)
        parent.append(before)
        column.append(read)
        total += len(pairs)
    stacked = np.concatenate(vectors)
    labels = network.number(box.out(stacked))
    return Steps(
        vectors=stacked,
        labels=labels,
        parent=np.concatenate(parent),
        column=np.concatenate(column),
    )


def cluster_automata(
    network: ExternalNetwork,
    box: WhiteBox,
    words: Sequence[Ids],
    *,
    seed: int,
    spent: Callable[[], bool],
) -> Iterator[tuple[int, DFA]]:
    """An automaton for each number of clusters, until the time is up."""
    steps = record_steps(network, box, words)
    random = np.random.default_rng(seed)
    some = random.permutation(len(steps.vectors))[:_VECTORS]
    distinct = len(np.unique(steps.vectors[some].round(4), axis=0))
    for k in (k for k in SIZES if k <= distinct):
        if spent():
            return
        centres = cluster_centres(steps.vectors[some], k, seed)
        yield k, _automaton(network, box, steps, centres)


def _automaton(network: ExternalNetwork, box: WhiteBox, steps: Steps, centres: Floats) -> DFA:
    """Majorities decide successors and outputs; what was never seen is one step of a centre."""
    symbols, k = network.alphabet.symbols, len(centres)
    states = _nearest(steps.vectors, centres)
    votes = np.zeros((k, len(network.classes)), dtype=np.int64)
    np.add.at(votes, (states, steps.labels), 1)
    counts = np.zeros((k, len(symbols), k), dtype=np.int64)
    moved = np.flatnonzero(steps.parent >= 0)
    np.add.at(counts, (states[steps.parent[moved]], steps.column[moved], states[moved]), 1)
    table = counts.argmax(-1)
    for c, symbol in enumerate(symbols):
        unseen = counts[:, c].sum(-1) == 0
        if unseen.any():
            table[unseen, c] = _nearest(box.step(centres[unseen], symbol), centres)
    return DFA(
        alphabet=symbols,
        transitions=table.astype(np.int32),
        outputs=tuple(network.classes[i] for i in votes.argmax(-1)),
        initial=int(states[0]),
    ).minimize()


def _nearest(vectors: Floats, centres: Floats) -> Ints:
    nearest: Ints = (vectors @ centres.T - (centres**2).sum(1) / 2).argmax(1)
    return nearest
