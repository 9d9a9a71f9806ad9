"""What a page shows of one model: its states, a drawing of them, and a table to step words on.

A memory-less network is shown as its automaton, and the page steps words on its table. If the
automaton has too many arrows, or if a memory also decides, the drawing shows the moves between the
network's states over some words; the page steps on the table of these states, if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kleene.automata import DFA
from kleene.automata.table import known_words, moves_taken
from kleene.explain.markup import as_json, as_text
from kleene.explain.summary import summarize
from kleene.explain.traces import label_text, state_labels
from kleene.extraction.result import Extraction
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.nn.classifier import adds_up
from kleene.report.drawing import Node, draw_dfa, draw_summary, lay_out

MAX_ARROWS = 40  # arrows beyond which an automaton is drawn as a map of its commonest moves


@dataclass(frozen=True, kw_only=True)
class View:
    """The states of a page."""

    kind: str
    """`automaton`; `map`, the moves over some words; or `states` alone."""
    names: tuple[str, ...]
    labels: tuple[Label | None, ...]
    drawing: dict[str, Any]
    dfa: DFA | None
    """The automaton whose states these are, for the page to step on."""
    exact: bool
    """Whether the network in hard mode takes the same steps as `dfa`."""
    of_centroid: dict[int, int]
    """The state shown for each centroid of the network."""
    colors: tuple[int | None, ...] | None = None
    """Where states have weights: the number of each state's class, None for neutral ones."""
    omits: bool = False
    """Whether moves are left out of the drawing because no example takes them."""

    @property
    def exact_dfa(self) -> DFA | None:
        """The automaton, if it is the network."""
        return self.dfa if self.exact else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for the page."""
        return {
            "kind": self.kind,
            "exact": self.exact,
            "states": [
                {"name": name, "label": label_text(label)}
                for name, label in zip(self.names, self.labels, strict=True)
            ],
            "colors": self.colors,
            "omits": self.omits,
            "drawing": self.drawing,
            "machine": None if self.dfa is None else page_table(self.dfa),
            "centroids": {str(centroid): state for centroid, state in self.of_centroid.items()},
        }


def view(model: Model, reading: Extraction, words: Sequence[Word]) -> View:
    """The view that suits a model: what the `words` pass through, or all where there are none."""
    exact = reading.method == "table"
    known = known_words(reading.dfa, words) or None
    if model.network.config.num_states and words and not (exact and _drawable(reading.dfa, known)):
        return _map(model, reading if exact else None, words)
    return automaton_view(reading.dfa, centroids=_centroids(reading), exact=exact, words=known)


def automaton_view(
    dfa: DFA,
    *,
    centroids: dict[int, int] | None = None,
    exact: bool = True,
    words: Sequence[Word] | None = None,
) -> View:
    """An automaton; where each state is one centroid, it has the centroid's number."""
    of_centroid = centroids or {}
    names = [dfa.name(state) if dfa.names else f"q{state}" for state in range(dfa.num_states)]
    if len(of_centroid) == dfa.num_states == len(set(of_centroid.values())):
        for centroid, state in of_centroid.items():
            names[state] = str(centroid)
    return View(
        kind="automaton",
        names=tuple(names),
        labels=dfa.outputs,
        drawing=draw_dfa(dfa, names, words),
        dfa=dfa,
        exact=exact,
        of_centroid=of_centroid,
        omits=not moves_taken(dfa, words).all(),
    )


def states_view(model: Model) -> View:
    """The states of a network without their moves, for want of words to see them on."""
    labels = state_labels(model)
    nodes = [Node(id=i, lines=(str(i), label_text(label))) for i, label in enumerate(labels)]
    return View(
        kind="states",
        names=tuple(map(str, range(len(labels)))),
        labels=labels,
        drawing=lay_out(nodes, [], start=None),
        dfa=None,
        exact=False,
        of_centroid={state: state for state in range(len(labels))},
        colors=_colors(model, labels),
    )


def page_table(dfa: DFA) -> dict[str, Any]:
    """An automaton as the page steps on it: symbols that act alike share a column."""
    columns: dict[tuple[int, ...], int] = {}
    column = [
        columns.setdefault(tuple(moves), len(columns)) for moves in dfa.transitions.T.tolist()
    ]
    return {
        "alphabet": [as_json(symbol) for symbol in dfa.alphabet],
        "column": column,
        "moves": [list(row) for row in zip(*columns, strict=True)],
        "outputs": [as_text(label) for label in dfa.outputs],
        "start": dfa.initial,
    }


def _map(model: Model, table: Extraction | None, words: Sequence[Word]) -> View:
    """The states of the network itself, and the commonest moves between them."""
    dfa = None if table is None else _by_centroid(table.raw, model)
    summary = summarize(model, words)
    states = range(len(summary.state_labels))
    return View(
        kind="map",
        names=tuple(map(str, states)),
        labels=summary.state_labels,
        drawing=draw_summary(summary, None if dfa is None else dfa.initial),
        dfa=dfa,
        exact=dfa is not None,
        of_centroid={state: state for state in states},
        colors=_colors(model, summary.state_labels),
    )


def _colors(model: Model, labels: Sequence[Label | None]) -> tuple[int | None, ...] | None:
    """States of a class in its colour, and neutral ones in none, where states have weights."""
    if not adds_up(model.network):
        return None
    return tuple(None if label is None else model.class_ids[label] for label in labels)


def _drawable(dfa: DFA, words: Sequence[Word] | None) -> bool:
    states, symbols = moves_taken(dfa, words).nonzero()
    pairs = zip(states.tolist(), dfa.transitions[states, symbols].tolist(), strict=True)
    return len(set(pairs)) <= MAX_ARROWS


def _centroids(reading: Extraction) -> dict[int, int]:
    """The state of the automaton that each centroid stands for, where the reading tells."""
    raw, dfa = reading.raw, reading.dfa
    if reading.method != "table":
        return {}
    partner, todo = {raw.initial: dfa.initial}, [raw.initial]
    columns = [dfa.columns[symbol] for symbol in raw.alphabet]
    while todo:
        state = todo.pop()
        for column, target in zip(columns, raw.rows[state], strict=True):
            if target not in partner:
                partner[target] = dfa.rows[partner[state]][column]
                todo.append(target)
    if any("/" in raw.name(state) for state in partner):
        return {}  # several layers: a state is more than one centroid
    return {int(raw.name(state)): shown for state, shown in sorted(partner.items())}


def _by_centroid(raw: DFA, model: Model) -> DFA | None:
    """The table with a row for every centroid; rows that no word reaches stay where they are."""
    names = [raw.name(state) for state in range(raw.num_states)]
    if any("/" in name for name in names):
        return None
    import numpy as np

    number = np.array([int(name) for name in names])
    table = np.repeat(np.arange(model.network.config.num_states)[:, None], len(raw.alphabet), 1)
    table[number] = number[raw.transitions]
    outputs: list[Label] = [model.classes[0]] * len(table)
    for state, centroid in enumerate(number.tolist()):
        outputs[centroid] = raw.outputs[state]
    return DFA(
        alphabet=raw.alphabet,
        transitions=table.astype(np.int32),
        outputs=tuple(outputs),
        initial=int(number[raw.initial]),
    )
