"""Why this word got this label: Algorithm 3 of the paper.

For a word x_1 ... x_T the network gives a label y, the state j it ends in, and P with
P_t(i) = the probability of moving to state i at symbol t. Symbol t is highlighted by P_t(j), or by
its exact share of the prediction where states have weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from kleene.arrays import Floats, Ints
from kleene.errors import DataError
from kleene.explain.batched_traces import TracedBatch, batched_traces, encode, require_states
from kleene.explain.markup import (
    as_json,
    as_text,
    highlight_html,
    highlight_svg,
    joint,
    legend_html,
)
from kleene.explain.methods import METHODS, choose_method, predicting_states
from kleene.explain.scoring import state_scores
from kleene.explain.state_labels import state_labels
from kleene.explain.terminal import LEGEND, deciding_step, marked_path, marked_text
from kleene.machine import Label, Symbol, Word
from kleene.model import Model
from kleene.nn.state_weights import lead

TOP = 8  # symbols that `top` gives
NEGLIGIBLE = 0.005  # a weight that is written as 0.00
CRISP = 0.95  # the least probability of each state on a path that explains the label by itself


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A prediction and its reasons. `print` it, show it in a notebook, or write `to_html()`."""

    word: tuple[Symbol, ...]
    prediction: Label
    classes: tuple[Label, ...]
    probabilities: Floats
    """Of the classes."""
    probs: Floats
    """P, (time, state): the probability of moving to each state at each symbol."""
    states: Ints
    """The most probable state after each symbol, (time,)."""
    state_labels: tuple[Label | None, ...]
    """The class that each state stands for, None for those that stand for none."""
    start_state: int
    final_state: int
    predicting_state: int
    """The state whose probabilities are the weights of the methods "level" and "change"."""
    method: str
    weights: Floats
    """How much each symbol speaks for the prediction, or against it where below 0, (time,)."""
    lead: float | None = None
    """Where the weights add up: the logit of the prediction minus the mean of the others. It is
    the sum of all weights and of `rest`."""

    between: str = " "
    """What stands between two symbols where the word is shown."""

    def __len__(self) -> int:
        """How many symbols there are."""
        return len(self.word)

    @property
    def probability(self) -> float:
        """Of the predicted class."""
        return float(self.probabilities[self.classes.index(self.prediction)])

    @property
    def rest(self) -> float | None:
        """What no symbol gives the prediction, where the weights add up: bias, start, absence."""
        return None if self.lead is None else self.lead - float(self.weights.sum(dtype=np.float64))

    def top(self, count: int = TOP) -> list[tuple[int, Symbol, float]]:
        """Place, symbol and weight of the symbols that speak most for the prediction."""
        order = np.argsort(-self.weights, kind="stable")[:count]
        return [(int(t), self.word[t], float(self.weights[t])) for t in order]

    @property
    def is_path(self) -> bool:
        """Whether every symbol leads to one state almost surely, so that states explain it all."""
        return bool(self.probs.max(-1).min(initial=1) >= CRISP)

    def __str__(self) -> str:
        return self.to_text()

    def to_ansi(self) -> str:
        """For a terminal with colours."""
        return self.to_text(colors=True)

    def to_text(self, *, width: int = 80, colors: bool = False) -> str:
        """The sequence with its symbols marked; on a machine of few states, its path through them.

        Marks are backgrounds (`colors`), or stand in a line below the symbols.
        """
        how: dict[str, Any] = {"width": width, "colors": colors}
        counts = np.abs(self.weights).max(initial=0) >= NEGLIGIBLE
        weights = self.weights if counts else np.zeros(len(self))
        if self.is_path:
            path = [self.start_state, *self.states.tolist()]
            lines = [*marked_path(self.word, weights, path, **how), *self._decision(path)]
        else:
            lines = marked_text(self.word, weights, self.between, **how)
        legend = [LEGEND] if counts and not colors else []
        return "\n".join([self._headline(), *lines, *legend, *self._sum()])

    def _decision(self, path: Sequence[int]) -> list[str]:
        """The step from which on all states stand for the prediction."""
        names = [
            f"{state}" if (label := self.state_labels[state]) is None else f"{state} ({label})"
            for state in path
        ]
        t = deciding_step(path, self.state_labels, self.prediction)
        if t < 0:
            return []
        if t == 0:
            return [f"every state on the way, from the start {names[0]}, stands for the label"]
        symbol = as_text(self.word[t - 1])
        return [f"decided by symbol {t}, {symbol!r}: state {names[t - 1]} to state {names[t]}"]

    def to_html(self) -> str:
        """A fragment of a web page that stands by itself."""
        head = f"<strong>{escape(self._headline())}</strong>"
        most = float(np.abs(self.weights).max(initial=0))
        text = highlight_html(self.word, self.weights, self.between)
        total = "".join(f"<br><small>{escape(line)}</small>" for line in self._sum())
        return f"<div>{head}{text}{legend_html(most)}{total}</div>"

    _repr_html_ = to_html

    def to_svg(self, width: int = 760) -> str:
        """A picture for a paper or a page."""
        title = self._headline()
        return highlight_svg(self.word, self.weights, self.between, title=title, width=width)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "word": [as_json(symbol) for symbol in self.word],
            "prediction": as_json(self.prediction),
            "probabilities": {
                str(label): float(p)
                for label, p in zip(self.classes, self.probabilities, strict=True)
            },
            "method": self.method,
            "weights": self.weights.astype(float).round(6).tolist(),
            "lead": self.lead,
            "rest": self.rest,
            "states": self.states.tolist(),
            "start_state": self.start_state,
            "final_state": self.final_state,
            "predicting_state": self.predicting_state,
            "state_labels": [as_json(label) for label in self.state_labels],
            "probs": self.probs.astype(float).round(6).tolist(),
        }

    def maps(self, shape: tuple[int, int]) -> Floats:
        """P of an image read pixel by pixel, as one map per state, (state, row, column)."""
        if len(self) != shape[0] * shape[1]:
            raise DataError(
                f"shape must have {len(self)} pixels, got {shape[0]} x {shape[1]}; "
                "give the shape the sequence was made from"
            )
        return self.probs.T.reshape(-1, *shape)

    def _sum(self) -> list[str]:
        """A line that says that the numbers add up, where they do."""
        if self.lead is None or self.rest is None:
            return []
        what = "log-odds" if len(self.classes) == 2 else "lead over the mean of the other classes"
        words = self.lead - self.rest
        return [
            f"{what} {self.lead:+.2f} = {words:+.2f} of the symbols {self.rest:+.2f} of the rest"
        ]

    def _headline(self) -> str:
        label = self.state_labels[self.predicting_state]
        if self.method in ("level", "change"):
            name = "" if label is None else f" ({as_text(label)})"
            basis = f"by the {self.method} of state {self.predicting_state}{name}"
        else:
            basis = f"by {self.method}"
        return f"{as_text(self.prediction)} ({self.probability:.2f}), {basis}"


def explain(model: Model, word: Word, *, method: str | None = None) -> Explanation:
    """Explain the prediction for one word; see `explain_many`."""
    return explain_many(model, [word], method=method)[0]


def explain_many(
    model: Model, words: Sequence[Word], *, method: str | None = None
) -> list[Explanation]:
    """Explain the predictions for some words, at little more than the cost of predicting them.

    `method` is "level" (the paper's P_t(j)), "change" (of it), "evidence" (by how much a symbol
    raises the log-odds of the predicted class) or, where states have weights, "contribution" (its
    exact share of the lead of the predicted class) or "lean" (the same whatever the length).
    None is "contribution" where states have weights, else "evidence".
    """
    network = model.network
    require_states(network)
    name = choose_method(network, method)
    of_states = state_scores(network).argmax(-1).cpu().numpy()
    labels = state_labels(model)
    explained: dict[int, Explanation] = {}
    for traced in batched_traces(network, encode(model, words)):
        predicting = predicting_states(network, traced, of_states)
        weights = METHODS[name](network, traced, predicting)
        leads = lead(traced.scores, traced.predicted_classes).tolist()
        for row, index in enumerate(traced.batch.order.tolist()):
            explained[index] = _explanation(
                traced,
                row,
                word=symbols_of(words[index]),
                classes=model.classes,
                state_labels=labels,
                predicting=int(predicting[row]),
                method=name,
                weights=weights[row],
                lead=leads[row] if name == "contribution" else None,
                between=joint(words[index]),
            )
    return [explained[i] for i in range(len(words))]


def symbols_of(word: Word) -> tuple[Symbol, ...]:
    """The symbols of a word; vectors become numbers, or tuples of numbers."""
    given: object = word
    if not isinstance(given, np.ndarray):
        return tuple(word)
    rows = given.round(4).tolist() if given.ndim == 2 else [[symbol] for symbol in given.tolist()]
    return tuple(row[0] if len(row) == 1 else tuple(row) for row in rows)


def _explanation(
    traced: TracedBatch,
    row: int,
    *,
    word: tuple[Symbol, ...],
    classes: tuple[Label, ...],
    state_labels: tuple[Label | None, ...],
    predicting: int,
    method: str,
    weights: Floats,
    lead: float | None,
    between: str,
) -> Explanation:
    steps = len(word)
    states = traced.states[row]
    return Explanation(
        word=word,
        prediction=classes[traced.predicted[row]],
        classes=classes,
        probabilities=traced.probabilities[row],
        probs=traced.probs[row, 1 : steps + 1],
        states=states[1 : steps + 1],
        state_labels=state_labels,
        start_state=int(states[0]),
        final_state=int(states[steps]),
        predicting_state=predicting,
        method=method,
        weights=weights[:steps],
        lead=lead,
        between=between,
    )
