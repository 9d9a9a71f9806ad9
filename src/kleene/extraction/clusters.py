"""White boxes: automata from clusters of a network's hidden vectors.

Too few clusters join prefixes that must be told apart, so there are many clusters first, and
minimisation leaves fewer states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from kleene.automata import DFA
from kleene.data.alphabet import Alphabet, Ids
from kleene.extraction.adapters.protocol import WhiteBox
from kleene.extraction.network import ExternalNetwork
from kleene.extraction.transitions.counts import count_transitions, to_dfa
from kleene.extraction.transitions.partition import Nearest, follow
from kleene.extraction.transitions.prefixes import Prefixes
from kleene.kmeans import cluster_centres

SIZES = (8, 16, 32, 64, 128)
MAX_PREFIXES = 30_000
CLUSTERED_VECTORS = 6_000


def cluster_automata(
    network: ExternalNetwork,
    box: WhiteBox,
    words: Sequence[Ids],
    *,
    seed: int,
    spent: Callable[[], bool],
) -> Iterator[tuple[int, DFA]]:
    """An automaton for each number of clusters, until the time is up."""
    prefixes = record_prefixes(network, box, words)
    some = np.random.default_rng(seed).permutation(len(prefixes.vectors))[:CLUSTERED_VECTORS]
    sample = prefixes.vectors[some]
    distinct = len(np.unique(sample.round(4), axis=0))
    for k in (k for k in SIZES if k <= distinct):
        if spent():
            return
        yield k, _automaton(network, box, prefixes, Nearest(cluster_centres(sample, k, seed)))


def record_prefixes(network: ExternalNetwork, box: WhiteBox, words: Sequence[Ids]) -> Prefixes:
    """Run the words in parallel, a symbol at a time; at most `MAX_PREFIXES` prefixes."""
    ends = np.cumsum([len(word) + 1 for word in words])
    words = words[: max(1, int((ends <= MAX_PREFIXES).sum()))]
    symbols = network.alphabet.symbols
    lengths = np.array([len(word) for word in words])
    starts = np.cumsum(lengths + 1) - lengths - 1
    word = np.repeat(np.arange(len(words)), lengths + 1)
    time = np.arange(len(word)) - starts[word]
    column = np.full(len(word), -1, dtype=np.int64)
    column[time > 0] = Alphabet.columns(np.concatenate(words))
    empty = box.hidden([()])
    vectors = np.empty((len(word), empty.shape[1]), dtype=np.float32)
    vectors[starts] = empty
    for t in range(1, int(lengths.max()) + 1):
        now = np.flatnonzero(time == t)
        for c in np.unique(column[now]).tolist():
            after = now[column[now] == c]
            vectors[after] = box.step(vectors[after - 1], symbols[c])
    return Prefixes(
        words=words,
        word=word,
        time=time,
        column=column,
        labels=network.number(box.out(vectors)),
        vectors=vectors,
        sizes=(vectors.shape[1],),
        hidden=True,
    )


def _automaton(
    network: ExternalNetwork, box: WhiteBox, prefixes: Prefixes, nearest: Nearest
) -> DFA:
    """Majorities decide successors and outputs; a pair never seen is a step from its centre."""
    paths = follow(prefixes, nearest)
    dfa, unseen = to_dfa(network, count_transitions(paths))
    table, states = dfa.transitions.copy(), {int(key): i for i, key in enumerate(paths.keys)}
    for c, symbol in enumerate(dfa.alphabet):
        centres = [int(name) for name, read in unseen if read == symbol]
        if centres:
            after = nearest.read(box.step(nearest.centres[centres], symbol)).tolist()
            rows = [states[centre] for centre in centres]
            table[rows, c] = [states.get(centre, len(states)) for centre in after]
    return replace(dfa, transitions=table).minimize()
