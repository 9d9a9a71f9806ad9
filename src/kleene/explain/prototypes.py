"""What the states stand for: Algorithm 2 of the paper.

For each state, the symbols that lead there with the highest transition probability; for each class,
the symbols that lead to its states; and each state's own class and weight, where it has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from kleene.arrays import Floats
from kleene.data.alphabet import UNKNOWN, Alphabet
from kleene.evaluation.percent import percent
from kleene.explain.markup import Rendered, Table, as_json, as_text
from kleene.explain.methods import predicting_states
from kleene.explain.traces import (
    NEUTRAL,
    TracedBatch,
    batched_traces,
    encode,
    label_text,
    require_states,
    require_symbols,
    state_labels,
    state_leads,
)
from kleene.machine import Label, Symbol, Word
from kleene.model import Model

MIN_COUNT = 5
BLOCK = 1000  # words encoded at a time


@dataclass(frozen=True, kw_only=True)
class Prototype:
    """A symbol and how it leads to a state."""

    symbol: Symbol
    mean: float
    """Mean transition probability, over all its occurrences there."""
    count: int
    """Its occurrences."""

    def __str__(self) -> str:
        return f"{as_text(self.symbol)} ({self.mean:.2f})"


@dataclass(frozen=True, kw_only=True)
class Prototypes(Rendered):
    """The prototypical symbols of all states and classes, the best first."""

    states: tuple[tuple[Prototype, ...], ...]
    """Prototypes of each state."""
    state_labels: tuple[Label | None, ...]
    """The class that each state stands for, or None."""
    visits: tuple[float, ...]
    """The share of all steps at which each state is the most probable."""
    classes: dict[Label, tuple[Prototype, ...]]
    """For each class, within its words: by the weight of the states a symbol leads to, where states
    have weights, else by the probability of the state that predicts each word."""
    weights: tuple[tuple[float, ...], ...] | None = None
    """Weights of each state for each class against the others; None where states have none.
    They are weights of the network itself: with the bias they add up to its logits."""

    def tables(self) -> list[Table]:
        """A state a row, then a class a row."""
        of_states = [
            [str(i), self._class(i), percent(self.visits[i]), ", ".join(map(str, found))]
            for i, found in enumerate(self.states)
        ]
        of_classes = [
            [as_text(label), ", ".join(map(str, found))] for label, found in self.classes.items()
        ]
        header = ("state", "class", "visits", "symbols")
        return [(header, of_states), (("class", "symbols"), of_classes)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        states = [
            {
                "state": i,
                "label": self.state_labels[i],
                "weights": self.weights and dict(zip(self.classes, self.weights[i], strict=True)),
                "neutral": self._is_neutral(i),
                "visits": self.visits[i],
                "symbols": list(map(asdict, found)),
            }
            for i, found in enumerate(self.states)
        ]
        classes = {label: list(map(asdict, found)) for label, found in self.classes.items()}
        plain: dict[str, Any] = as_json({"states": states, "classes": classes})
        return plain

    def _class(self, state: int) -> str:
        """The class of a state, with its weight where it has one."""
        label = self.state_labels[state]
        if self.weights is None:
            return label_text(label)
        unnamed = "neutral" if self._is_neutral(state) else "mixed"
        return f"{unnamed if label is None else as_text(label)} {max(self.weights[state]):+.1f}"

    def _is_neutral(self, state: int) -> bool:
        """Whether a state's weight is small compared with the greatest."""
        if self.weights is None:
            return False
        leads = [max(row) for row in self.weights]
        return leads[state] < NEUTRAL * max(leads)


def prototypes(
    model: Model, words: Iterable[Word], *, top: int = 10, min_count: int = MIN_COUNT
) -> Prototypes:
    """Read the prototypes off a corpus, whose words may come one by one.

    A symbol counts for a state or a predicted class where it occurs at least `min_count` times
    (fewer where nothing does) and is ranked by its mean transition probability; with `min_count=1`
    rare symbols win.
    """
    network, states = model.network, model.network.config.num_states
    require_states(network)
    require_symbols(model, "prototypes")
    leads = state_leads(model)
    one_state = np.eye(states, dtype=np.float32)
    sums = _Sums(len(model.alphabet), states, len(model.classes))
    stream = iter(words)
    while block := list(islice(stream, BLOCK)):
        for traced in batched_traces(network, encode(model, block)):
            predicting = one_state[predicting_states(network, traced)]
            sums.add(traced, predicting if leads is None else leads.T[traced.predicted])
    found = [sums.best(model.alphabet, i, top, min_count) for i in range(sums.counts.shape[1])]
    return Prototypes(
        states=tuple(found[:states]),
        state_labels=state_labels(model, sums.visits),
        weights=None if leads is None else tuple(map(tuple, leads.tolist())),
        visits=tuple((sums.visits.sum(0) / max(sums.visits.sum(), 1)).tolist()),
        classes=dict(zip(model.classes, found[states:], strict=True)),
    )


class _Sums:
    """Sums over all steps of a corpus, (symbol, column): a column a state, then one a class."""

    def __init__(self, symbols: int, states: int, classes: int) -> None:
        self.counts = np.zeros((symbols, states + classes), np.int64)
        self.sums = np.zeros((symbols, states + classes))
        self.visits = np.zeros((classes, states), np.int64)

    def add(self, traced: TracedBatch, chosen: Floats) -> None:
        """Add a batch; `chosen` weighs the states for the predicted class, (batch, state)."""
        row, time = np.nonzero(traced.mask)
        probs = traced.probs[row, time + 1]  # steps state
        states = probs.shape[1]
        weights = (probs * chosen[row]).sum(-1, keepdims=True).astype(np.float32)
        values = np.concatenate([probs, weights], 1)
        columns = np.tile(np.arange(states + 1), (len(row), 1))
        columns[:, states] += traced.predicted[row]
        where = (np.broadcast_to(traced.ids[:, None], columns.shape), columns)
        np.add.at(self.counts, where, 1)
        np.add.at(self.sums, where, values)
        np.add.at(self.visits, (traced.predicted[row], probs.argmax(-1)), 1)

    def best(
        self, alphabet: Alphabet, column: int, top: int, min_count: int
    ) -> tuple[Prototype, ...]:
        """The symbols of highest mean in a column."""
        counts, sums = self.counts[:, column].copy(), self.sums[:, column]
        counts[: UNKNOWN + 1] = 0
        frequent = np.flatnonzero(counts >= max(1, min(min_count, int(counts.max(initial=0)))))
        means = sums[frequent] / counts[frequent]
        best = frequent[np.lexsort((-counts[frequent], -means))[:top]]
        return tuple(
            Prototype(symbol=symbol, mean=float(sums[i] / counts[i]), count=int(counts[i]))
            for i, symbol in zip(best, alphabet.decode(best), strict=True)
        )
