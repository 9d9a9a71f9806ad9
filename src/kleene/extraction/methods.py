"""The methods of extraction from a Kleene model, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kleene.automata import PFA
from kleene.errors import ExtractionError, SettingError
from kleene.extraction.checks.fidelity import prefix_agreement
from kleene.extraction.context import ExtractionContext, RawExtraction
from kleene.extraction.table import MAX_PROBABILITIES, NetworkTable, transition_table
from kleene.extraction.transitions.counts import (
    TransitionCounts,
    count_transitions,
    max_mean_transitions,
    soft_count_transitions,
    to_dfa,
    to_pfa,
)
from kleene.extraction.transitions.partition import Nearest, StatePaths, follow
from kleene.extraction.transitions.prefixes import read_prefixes
from kleene.extraction.words import usual_length
from kleene.kmeans import cluster_centres
from kleene.model import Model

MAX_CENTRES = 64
CLUSTERED_VECTORS = 6_000


def by_table(context: ExtractionContext) -> RawExtraction:
    """The network's own table: one hard step from every state on every symbol."""
    table = transition_table(context.model)
    message = f"read the table of {len(table.states)} states"
    return RawExtraction(
        method="table", raw=table.dfa, pfa=_table_pfa(table), paths=context.paths, steps=(message,)
    )


def _by_transitions(
    method: str, count: Callable[[StatePaths], TransitionCounts]
) -> Callable[[ExtractionContext], RawExtraction]:
    """A method that decides transitions by the traces of the words."""

    def extract(context: ExtractionContext) -> RawExtraction:
        require_centroids(context.model)
        return from_counts(method, context, count(context.paths))

    return extract


def by_kmeans(context: ExtractionContext) -> RawExtraction:
    """Clusters of the hidden vectors of any network; majorities decide successors and outputs.

    Without a given number of centres, the number is doubled from 2 on until the automaton agrees
    with the network on every prefix of the words; the best number is kept.
    """
    if context.centres is not None and context.centres < 1:
        raise SettingError(f"centres must be >= 1, got {context.centres}")
    prefixes = read_prefixes(context.model, context.words, hidden=True)
    vectors = prefixes.vectors
    if len(vectors) > CLUSTERED_VECTORS:
        random = np.random.default_rng(context.seed)
        vectors = random.choice(vectors, CLUSTERED_VECTORS, replace=False)
    most = min(MAX_CENTRES, len(np.unique(vectors.round(4), axis=0)))
    tried: dict[int, tuple[float, RawExtraction]] = {}
    k = min(context.centres or 2, most)
    while k not in tried:
        paths = follow(prefixes, Nearest(cluster_centres(vectors, k, context.seed)))
        found = from_counts("kmeans", context, count_transitions(paths))
        tried[k] = (prefix_agreement(context.model, found.raw, prefixes), found)
        if context.centres is None and tried[k][0] < 1:
            k = min(2 * k, most)
    best, found = max(tried.values(), key=lambda pair: pair[0])
    numbers = ", ".join(map(str, tried))
    message = f"k-means with {numbers} centres; the best agrees on {best:.2%} of the prefixes"
    return replace(found, steps=(message,))


def by_lstar(context: ExtractionContext) -> RawExtraction:
    """Active learning with the network as teacher; see `kleene.extraction.front_search`.

    If the learner stops at a limit, the answer is the smallest automaton of its front within one
    standard error of the best.
    """
    from kleene.extraction.front_search import FrontSearch

    model = context.model
    search = FrontSearch(
        model,
        context.oracle,
        context.given,
        seed=context.seed,
        longest=usual_length(model, context.given),
    )
    dfa = search.learn_actively(context.seconds, context.max_queries)
    return RawExtraction(
        method="lstar",
        raw=search.front.knee().dfa if dfa is None else dfa,
        front=search.front,
        steps=tuple(search.steps),
    )


METHODS: dict[str, Callable[[ExtractionContext], RawExtraction]] = {
    "table": by_table,
    "counts": _by_transitions("counts", count_transitions),
    "mean": _by_transitions("mean", max_mean_transitions),
    "soft-counts": _by_transitions("soft-counts", soft_count_transitions),
    "kmeans": by_kmeans,
    "lstar": by_lstar,
}


def from_counts(method: str, context: ExtractionContext, counts: TransitionCounts) -> RawExtraction:
    """The automaton of some transition counts."""
    raw, unseen = to_dfa(context.model, counts)
    message = f"{method}: {counts.paths.num_states} states along {counts.words:,} words"
    if unseen:
        message += f"; {len(unseen)} pairs of state and symbol were never seen and lead to a sink"
    return RawExtraction(
        method=method,
        raw=raw,
        pfa=to_pfa(context.model, counts),
        paths=counts.paths,
        unseen=unseen,
        steps=(message,),
    )


def default_method(model: Model) -> str:
    """The cheapest method that fits the network: table, counts or kmeans."""
    return model.readable_by if model.readable_by in METHODS else "kmeans"


def require_centroids(model: Model) -> None:
    """Refuse a network whose traces have no states."""
    if model.readable_by == "clusters":
        raise ExtractionError(
            "this network has no centroids, so its traces have no states to count; "
            "use the method kmeans or lstar"
        )


def _table_pfa(table: NetworkTable) -> PFA | None:
    """The table with the top layer's probabilities; lower layers take hard steps.

    The probability of centroids that the table never reaches is shared among the others. None if
    there are too many probabilities to keep.
    """
    if table.probs is None:
        return None
    dfa, states = table.dfa, np.array(table.states)
    below = states[dfa.transitions, :-1]  # (state, symbol, lower layer), of the next state
    if len(states) * dfa.transitions.size > MAX_PROBABILITIES:
        return None
    fits = (below[:, :, None] == states[:, :-1]).all(axis=-1)  # (state, symbol, state)
    probs = np.where(fits, table.probs[:, :, states[:, -1]], 0).astype(np.float64)
    start = np.where(
        (states[0, :-1] == states[:, :-1]).all(axis=-1), table.start_probs[states[:, -1]], 0
    ).astype(np.float64)
    return PFA(
        alphabet=dfa.alphabet,
        transitions=probs / probs.sum(axis=-1, keepdims=True),
        initial=start / start.sum(),
        outputs=dfa.outputs,
    )
