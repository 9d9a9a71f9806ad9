"""The ways to read an automaton, by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kleene.automata import PFA
from kleene.errors import ReadingError
from kleene.extraction.clustering import read_kmeans, read_lstar
from kleene.extraction.context import ExtractionContext, Reading
from kleene.extraction.table import LARGEST, Table, read_table
from kleene.extraction.transitions.counts import (
    TransitionCounts,
    count_transitions,
    mean_transitions,
    to_dfa,
    to_pfa,
)
from kleene.extraction.transitions.partition import StatePaths
from kleene.model import Model


def read_by_table(context: ExtractionContext) -> Reading:
    """The network's own table: one hard step from every state on every symbol."""
    table = read_table(context.model)
    message = f"read the table of {len(table.states)} states"
    return Reading(
        method="table", raw=table.dfa, pfa=_table_pfa(table), paths=context.paths, steps=(message,)
    )


def read_by_counts(context: ExtractionContext) -> Reading:
    """The paper's Algorithm 1: the most frequent successor in the traces of the words."""
    require_centroids(context.model)
    return reading_from_counts("counts", context, count_transitions(context.paths))


def read_by_means(context: ExtractionContext) -> Reading:
    """The successor of highest mean probability in the traces of the words."""
    require_centroids(context.model)
    return reading_from_counts("mean", context, mean_transitions(context.paths))


METHODS: dict[str, Callable[[ExtractionContext], Reading]] = {
    "table": read_by_table,
    "counts": read_by_counts,
    "mean": read_by_means,
    "kmeans": read_kmeans,
    "lstar": read_lstar,
}


def reading_from_counts(
    method: str, context: ExtractionContext, counts: TransitionCounts, steps: tuple[str, ...] = ()
) -> Reading:
    """The automaton of some transition counts."""
    paths: StatePaths = counts.paths
    raw, unseen = to_dfa(context.model, counts)
    message = f"{method}: {paths.num_states} states along {counts.words:,} words"
    if unseen:
        message += f"; {len(unseen)} pairs of state and symbol were never seen and lead to a sink"
    return Reading(
        method=method,
        raw=raw,
        pfa=to_pfa(context.model, counts),
        paths=paths,
        unseen=unseen,
        steps=(*steps, message),
    )


def default_method(model: Model) -> str:
    """The method that costs least and fits the network: table, counts or kmeans."""
    if model.is_finite_state:
        return "table"
    return "counts" if has_states(model) else "kmeans"


def has_states(model: Model) -> bool:
    """Whether the network has centroids and uses them."""
    return model.network.rnn.num_states > 0 and model.network.rnn.regularized


def require_centroids(model: Model) -> None:
    """Refuse a network whose traces have no states."""
    if not has_states(model):
        raise ReadingError(
            "this network has no centroids, so its traces have no states to count; "
            "use the method kmeans or lstar"
        )


def _table_pfa(table: Table) -> PFA | None:
    """The table with the top layer's probabilities, lower layers taken hard.

    Probability of centroids that the table never reaches is shared out among the others. None
    where there are too many to keep.
    """
    if table.probs is None:
        return None
    dfa, states = table.dfa, np.array(table.states)
    below = states[dfa.transitions, :-1]  # (state, symbol, lower layer), of the next state
    if len(states) * dfa.transitions.size > LARGEST:
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
