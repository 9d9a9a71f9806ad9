"""Why this word got this label: Algorithm 3 of the paper.

For a word x_1 ... x_T the network gives a label y, the state j it ends in, and P with
P_t(i) = the probability of moving to state i at symbol t. Symbol t is highlighted by P_t(j), by its
exact share of the prediction where states have weights, or by how much it raises the log-odds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Floats, Ints
from kleene.evaluation.percent import probability_text
from kleene.explain.markup import (
    LEGEND,
    WEAK,
    as_json,
    as_text,
    joint,
    legend_html,
    marked_html,
    marked_lines,
)
from kleene.explain.methods import FULL_STRENGTH, METHODS, predicting_states, require_method
from kleene.explain.traces import batched_traces, encode, require_states, state_labels
from kleene.machine import Label, Symbol, Word
from kleene.model import Model
from kleene.nn.classifier import adds_up, lead

MIN_CRISP = 0.95  # the smallest probability of a state on a path that explains the label by itself


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A prediction and its reasons. `print` it, show it in a notebook, or write `to_html()`."""

    word: tuple[Symbol, ...]
    prediction: Label
    classes: tuple[Label, ...]
    probabilities: Floats
    """Probabilities of the classes."""
    probs: Floats
    """P, (time, state): the probability of moving to each state at each symbol."""
    states: Ints
    """The most probable state after each symbol, (time,)."""
    state_labels: tuple[Label | None, ...]
    """The class that each state stands for, or None."""
    start_state: int
    final_state: int
    predicting_state: int
    """The state whose probabilities are the weights of the method "level"."""
    method: str
    weights: Floats
    """How much each symbol speaks for the prediction, or against it where below 0, (time,)."""
    lead: float | None = None
    """Where the weights add up: the logit of the prediction minus the mean of the others. It is
    the sum of all weights and of `rest`."""

    between: str = " "
    """What stands between two symbols where the word is shown."""

    @property
    def probability(self) -> float:
        """Probability of the predicted class."""
        return float(self.probabilities[self.classes.index(self.prediction)])

    @property
    def rest(self) -> float | None:
        """What no symbol gives the prediction, where the weights add up: bias, start, absence."""
        return None if self.lead is None else self.lead - float(self.weights.sum(dtype=np.float64))

    @property
    def scale(self) -> float:
        """The weight that is shown in full colour: tiny weights stay pale."""
        return max(FULL_STRENGTH[self.method], float(np.abs(self.weights).max(initial=0)))

    @property
    def strengths(self) -> NDArray[np.float64]:
        """The weights from -1 to 1, as they are coloured, (time,)."""
        return np.nan_to_num(self.weights.astype(np.float64) / self.scale)

    @property
    def is_path(self) -> bool:
        """Whether every symbol leads to one state almost surely, so that states explain it all."""
        return bool(self.probs.max(-1).min(initial=1) >= MIN_CRISP)

    @property
    def deciding_step(self) -> int | None:
        """The number of the symbol, from 1, after which all states stand for the prediction.

        0 is the start. None where the last state stands for no class.
        """
        path = [self.start_state, *self.states.tolist()]
        agree = np.array([self.state_labels[state] == self.prediction for state in path])
        if not agree[-1]:
            return None
        others = np.flatnonzero(~agree)
        return int(others[-1]) + 1 if len(others) else 0

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, *, width: int = 80, colors: bool = False) -> str:
        """The sequence with its symbols marked; on a machine of few states, its path through them.

        Marks are backgrounds (`colors`), or stand in a line below the symbols.
        """
        path = [self.start_state, *self.states.tolist()] if self.is_path else None
        lines = marked_lines(
            self.word, self.strengths, self.between, states=path, width=width, colors=colors
        )
        marked = np.abs(self.strengths).max(initial=0) >= WEAK
        legend = [LEGEND] if marked and not colors else []
        return "\n".join([self._headline(), *lines, *self._decision(), *legend, *self._sum()])

    def _decision(self) -> list[str]:
        """The step from which on all states stand for the prediction."""
        t = self.deciding_step if self.is_path else None
        if t is None:
            return []
        if t == 0:
            start = self._state(self.start_state)
            return [f"every state on the way, from the start {start}, stands for the label"]
        before = self.start_state if t == 1 else int(self.states[t - 2])
        return [
            f"decided by symbol {t}, {as_text(self.word[t - 1])!r}: state {self._state(before)} "
            f"to state {self._state(int(self.states[t - 1]))}"
        ]

    def _state(self, state: int) -> str:
        label = self.state_labels[state]
        return str(state) if label is None else f"{state} ({as_text(label)})"

    def to_html(self) -> str:
        """A fragment of a web page that stands by itself."""
        head = f"<strong>{escape(self._headline())}</strong>"
        text = marked_html(self.word, self.weights, self.strengths, self.between)
        legend = legend_html(float(np.abs(self.weights).max(initial=0)))
        lines = [*self._decision(), *self._sum()]
        below = "".join(f"<br><small>{escape(line)}</small>" for line in lines)
        return f"<div>{head}{text}{legend}{below}</div>"

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "word": as_json(self.word),
            "prediction": as_json(self.prediction),
            "probabilities": as_json(dict(zip(self.classes, self.probabilities, strict=True))),
            "method": self.method,
            "weights": self.weights.astype(float).round(6).tolist(),
            "scale": self.scale,
            "lead": self.lead,
            "rest": self.rest,
            "states": self.states.tolist(),
            "start_state": self.start_state,
            "final_state": self.final_state,
            "predicting_state": self.predicting_state,
            "state_labels": as_json(self.state_labels),
            "probs": self.probs.astype(float).round(6).tolist(),
        }

    def _sum(self) -> list[str]:
        """A line that says that the numbers add up, where they do."""
        if self.lead is None or self.rest is None:
            return []
        what = "log-odds" if len(self.classes) == 2 else "lead over the mean of the other classes"
        own = self.lead - self.rest
        return [f"{what} {self.lead:+.2f} = {own:+.2f} of the symbols {self.rest:+.2f} of the rest"]

    def _headline(self) -> str:
        basis = self.method
        if basis == "level":
            basis = f"the level of state {self._state(self.predicting_state)}"
        return f"{as_text(self.prediction)} ({probability_text(self.probability)}), by {basis}"


def explain(model: Model, word: Word, *, method: str | None = None) -> Explanation:
    """Explain the prediction for one word; see `explain_many`."""
    return explain_many(model, [word], method=method)[0]


def explain_many(
    model: Model, words: Sequence[Word], *, method: str | None = None
) -> list[Explanation]:
    """Explain the predictions for some words, at little more than the cost of predicting them.

    `method` is "level" (the paper's P_t(j)), "evidence" (by how much a symbol raises the log-odds
    of the predicted class) or, where states have weights, "contribution" (a symbol's exact share of
    the lead of the predicted class). None is "contribution" where states have weights, else
    "evidence".
    """
    network = model.network
    require_states(network)
    method = method or ("contribution" if adds_up(network) else "evidence")
    weigh, labels = METHODS[require_method(method)], state_labels(model)
    explained: dict[int, Explanation] = {}
    for traced in batched_traces(network, encode(model, words)):
        predicting = predicting_states(network, traced)
        weights = weigh(network, traced, predicting)
        leads = lead(traced.scores, traced.predicted_classes).tolist()
        for row, index in enumerate(traced.batch.order.tolist()):
            steps, states = len(words[index]), traced.states[row]
            explained[index] = Explanation(
                word=_symbols(words[index]),
                prediction=model.classes[traced.predicted[row]],
                classes=model.classes,
                probabilities=traced.probabilities[row],
                probs=traced.probs[row, 1 : steps + 1],
                states=states[1 : steps + 1],
                state_labels=labels,
                start_state=int(states[0]),
                final_state=int(states[steps]),
                predicting_state=int(predicting[row]),
                method=method,
                weights=weights[row, :steps],
                lead=leads[row] if method == "contribution" else None,
                between=joint(words[index]),
            )
    return [explained[i] for i in range(len(words))]


def _symbols(word: Word) -> tuple[Symbol, ...]:
    """The symbols of a word; vectors become numbers, or tuples of numbers."""
    given: object = word
    if not isinstance(given, np.ndarray):
        return tuple(word)
    rows = given.round(4).tolist() if given.ndim == 2 else [[symbol] for symbol in given.tolist()]
    return tuple(row[0] if len(row) == 1 else tuple(row) for row in rows)
