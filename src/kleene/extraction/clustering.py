"""The peers: k-means on hidden vectors, the classical control, and active learning (L*)."""

from __future__ import annotations

import numpy as np

from kleene.arrays import Floats
from kleene.errors import SettingError
from kleene.extraction.checks.fidelity import prefix_agreement
from kleene.extraction.context import ExtractionContext, Reading
from kleene.extraction.transitions.counts import count_transitions, to_dfa, to_pfa
from kleene.extraction.transitions.partition import Nearest, follow
from kleene.extraction.transitions.prefixes import Prefixes, read_prefixes
from kleene.kmeans import cluster_centres

_VECTORS = 6_000
_MOST = 64


def read_kmeans(context: ExtractionContext) -> Reading:
    """Quantise the hidden vectors of any network; majorities decide successors and outputs.

    Without a number of centres it is doubled, from 2 on, until the automaton agrees with the
    network on every prefix of the words; otherwise the best number is kept.
    """
    prefixes = read_prefixes(context.model, context.words, hidden=True)
    vectors = _some(prefixes.vectors, context.seed)
    most = min(_MOST, len(np.unique(vectors.round(4), axis=0)))
    if context.centres is not None and context.centres < 1:
        raise SettingError(f"centres must be >= 1, got {context.centres}")
    tried: dict[int, tuple[float, Reading]] = {}
    k = min(context.centres or 2, most)
    while k not in tried:
        reading = _with_centres(context, prefixes, vectors, k)
        tried[k] = (prefix_agreement(context.model, reading.raw, prefixes), reading)
        if context.centres is None and tried[k][0] < 1:
            k = min(2 * k, most)
    best, reading = max(tried.values(), key=lambda pair: pair[0])
    numbers = ", ".join(map(str, tried))
    message = f"k-means with {numbers} centres; the best agrees on {best:.2%} of the prefixes"
    return Reading(
        method="kmeans",
        raw=reading.raw,
        pfa=reading.pfa,
        paths=reading.paths,
        unseen=reading.unseen,
        steps=(message,),
    )


def read_lstar(context: ExtractionContext) -> Reading:
    """Active learning with the network as teacher; see `kleene.extraction.lstar`."""
    from kleene.extraction.lstar import Budget, guided_search, learn

    model, oracle = context.model, context.oracle
    budget = Budget(oracle=oracle, seconds=context.seconds, max_queries=context.max_queries)
    find = guided_search(model, budget, context.words, seed=context.seed, prefixes=context.prefixes)
    dfa, message = learn(model, budget, find)
    return Reading(method="lstar", raw=dfa, steps=(message,))


def _with_centres(
    context: ExtractionContext, prefixes: Prefixes, vectors: Floats, k: int
) -> Reading:
    paths = follow(prefixes, Nearest(cluster_centres(vectors, k, context.seed)))
    counts = count_transitions(paths)
    raw, unseen = to_dfa(context.model, counts)
    pfa = to_pfa(context.model, counts)
    return Reading(method="kmeans", raw=raw, pfa=pfa, paths=paths, unseen=unseen)


def _some(vectors: Floats, seed: int) -> Floats:
    if len(vectors) <= _VECTORS:
        return vectors
    return np.random.default_rng(seed).choice(vectors, _VECTORS, replace=False)
