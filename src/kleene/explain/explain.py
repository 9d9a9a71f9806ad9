"""Why this word got this label: Algorithm 3 of the paper.

For a word x_1 ... x_T the network gives a label y, the state j it ends in, and P with
P_t(i) = the probability of moving to state i at symbol t. Symbol t is highlighted by P_t(j).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from kleene.arrays import Floats, Ints
from kleene.data.alphabet import Alphabet
from kleene.data.batch import Encoded
from kleene.errors import DataError
from kleene.explain.batched_traces import Pass, passes, require_states
from kleene.explain.markup import (
    as_json,
    as_text,
    highlight_ansi,
    highlight_html,
    highlight_svg,
    joint,
    legend_html,
)
from kleene.explain.scoring import state_scores
from kleene.explain.weights import choose_method, predicting_states
from kleene.machine import Label, Symbol, Word
from kleene.nn.classifier import Classifier

TOP = 8  # symbols that the one-line form names


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
    state_labels: tuple[Label, ...]
    """The class of each state alone: its centroid, classified."""
    start_state: int
    final_state: int
    predicting_state: int
    """The state whose probabilities are the weights of the methods "level" and "change"."""
    method: str
    weights: Floats
    """How much each symbol speaks for the prediction, or against it where below 0, (time,)."""

    between: str = " "
    """What stands between two symbols where the word is shown."""

    def __len__(self) -> int:
        """How many symbols there are."""
        return len(self.word)

    @property
    def probability(self) -> float:
        """Of the predicted class."""
        return float(self.probabilities[self.classes.index(self.prediction)])

    def top(self, count: int = TOP) -> list[tuple[int, Symbol, float]]:
        """Place, symbol and weight of the symbols that speak most for the prediction."""
        order = np.argsort(-self.weights, kind="stable")[:count]
        return [(int(t), self.word[t], float(self.weights[t])) for t in order]

    def __str__(self) -> str:
        strongest = ", ".join(f"{as_text(symbol)} ({w:.2f})" for _, symbol, w in self.top())
        return f"{self._headline()}\nstrongest: {strongest or 'nothing, the word is empty'}"

    def to_ansi(self) -> str:
        """For a terminal with colours."""
        return f"{self._headline()}\n{highlight_ansi(self.word, self.weights, self.between)}"

    def to_html(self) -> str:
        """A fragment of a web page that stands by itself."""
        head = f"<strong>{escape(self._headline())}</strong>"
        most = float(np.abs(self.weights).max(initial=0))
        text = highlight_html(self.word, self.weights, self.between)
        return f"<div>{head}{text}{legend_html(most)}</div>"

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
            came = f"{len(self)} steps for an image of {shape[0]} x {shape[1]}"
            raise DataError(f"{came} came; give the shape the sequence was made from")
        return self.probs.T.reshape(-1, *shape)

    def _headline(self) -> str:
        label = as_text(self.state_labels[self.predicting_state])
        if self.method in ("level", "change"):
            basis = f"by the {self.method} of state {self.predicting_state} ({label})"
        else:
            basis = f"by {self.method}"
        return f"{as_text(self.prediction)} ({self.probability:.2f}), {basis}"


def explain(
    network: Classifier,
    alphabet: Alphabet | None,
    classes: Sequence[Label],
    word: Word,
    *,
    method: str = "evidence",
) -> Explanation:
    """Explain the prediction for one word; see `explain_many`."""
    return explain_many(network, alphabet, classes, [word], method=method)[0]


def explain_many(
    network: Classifier,
    alphabet: Alphabet | None,
    classes: Sequence[Label],
    words: Sequence[Word],
    *,
    method: str = "evidence",
) -> list[Explanation]:
    """Explain the predictions for some words, at little more than the cost of predicting them.

    `method` is "level" (the paper's P_t(j)), "change" (of it) or "evidence" (by how much a symbol
    raises the log-odds of the predicted class). Where the input are vectors there is no alphabet.
    """
    require_states(network)
    weigh = choose_method(method)
    encoded = encode(alphabet, words)
    verdicts = state_scores(network).argmax(-1).cpu().numpy()
    state_labels = tuple(classes[i] for i in verdicts)
    explained: dict[int, Explanation] = {}
    for done in passes(network, encoded):
        predicting = predicting_states(done, verdicts)
        weights = weigh(network, done, predicting)
        for row, index in enumerate(done.batch.order.tolist()):
            explained[index] = _explanation(
                done,
                row,
                word=symbols_of(words[index]),
                classes=tuple(classes),
                state_labels=state_labels,
                predicting=int(predicting[row]),
                method=method,
                weights=weights[row],
                between=joint(words[index]),
            )
    return [explained[i] for i in range(len(words))]


def encode(alphabet: Alphabet | None, words: Sequence[Word]) -> Sequence[Encoded]:
    """Words as a network takes them; vectors, for which there is no alphabet, as they are."""
    if alphabet is not None:
        return alphabet.encode_many(words)
    return [np.asarray(word, dtype=np.float32).reshape(len(word), -1) for word in words]


def symbols_of(word: Word) -> tuple[Symbol, ...]:
    """The symbols of a word; vectors become numbers, or tuples of numbers."""
    given: object = word
    if not isinstance(given, np.ndarray):
        return tuple(word)
    rows = given.round(4).tolist() if given.ndim == 2 else [[symbol] for symbol in given.tolist()]
    return tuple(row[0] if len(row) == 1 else tuple(row) for row in rows)


def _explanation(
    done: Pass,
    row: int,
    *,
    word: tuple[Symbol, ...],
    classes: tuple[Label, ...],
    state_labels: tuple[Label, ...],
    predicting: int,
    method: str,
    weights: Floats,
    between: str,
) -> Explanation:
    steps = len(word)
    states = done.states[row]
    return Explanation(
        word=word,
        prediction=classes[done.predicted[row]],
        classes=classes,
        probabilities=done.probabilities[row],
        probs=done.probs[row, 1 : steps + 1],
        states=states[1 : steps + 1],
        state_labels=state_labels,
        start_state=int(states[0]),
        final_state=int(states[steps]),
        predicting_state=predicting,
        method=method,
        weights=weights[:steps],
        between=between,
    )
