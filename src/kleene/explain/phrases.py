"""Runs of symbols that speak for a class: n-grams by their mean weight over a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.alphabet import UNKNOWN, Alphabet
from kleene.errors import SettingError
from kleene.explain.batched_traces import batched_traces, encode, require_symbols
from kleene.explain.markup import as_json, as_text, columns, joint, table
from kleene.explain.methods import METHODS, choose_method, predicting_states
from kleene.explain.scoring import state_scores
from kleene.machine import Label, Symbol, Word
from kleene.model import Model
from kleene.nn.state_weights import adds_up


@dataclass(frozen=True, kw_only=True)
class Phrase:
    """Some symbols in a row."""

    symbols: tuple[Symbol, ...]
    weight: float
    """The mean over the window, and over all occurrences."""
    count: int
    between: str = " "
    """What stands between two symbols where the phrase is shown."""

    def __str__(self) -> str:
        return f"{self.between.join(map(as_text, self.symbols))} ({self.weight:.2f})"


@dataclass(frozen=True, kw_only=True)
class Phrases:
    """For each predicted class its phrases, the strongest first."""

    n: int
    classes: dict[Label, tuple[Phrase, ...]]

    def __str__(self) -> str:
        return columns(["class", f"{self.n}-grams"], self._rows())

    def to_html(self) -> str:
        """A table, a class a row."""
        return table(["class", f"{self.n}-grams"], self._rows())

    _repr_html_ = to_html

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "n": self.n,
            "classes": {
                str(label): [
                    {"symbols": as_json(p.symbols), "weight": p.weight, "count": p.count}
                    for p in found
                ]
                for label, found in self.classes.items()
            },
        }

    def _rows(self) -> list[list[str]]:
        return [
            [as_text(label), ", ".join(map(str, found)) or "none"]
            for label, found in self.classes.items()
        ]


def phrases(
    model: Model,
    words: Sequence[Word],
    *,
    n: int = 2,
    top: int = 10,
    min_count: int = 1,
    method: str | None = None,
) -> Phrases:
    """The n-grams of highest mean weight over a corpus, for each predicted class.

    `method` None is "lean" where states have weights: the weight, for the predicted class, of the
    states a symbol leads to. Else it is the paper's "level": the transition probability to the
    state that predicts its word. Windows with a symbol outside the alphabet do not count, nor, in
    prose, with a punctuation mark.
    """
    if n < 1:
        raise SettingError(f"n must be at least 1, got {n}")
    require_symbols(model, "phrases")
    network = model.network
    default = "lean" if adds_up(network) else "level"
    weigh = METHODS[choose_method(network, method or default)]
    counts = _counted(model)
    of_states = state_scores(network).argmax(-1).cpu().numpy()
    grams, of, weights = [np.zeros((0, n), np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    for traced in batched_traces(network, encode(model, words)):
        found = weigh(network, traced, predicting_states(network, traced, of_states))[traced.mask]
        ids, row = traced.ids, np.nonzero(traced.mask)[0]
        if len(ids) < n:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(ids, n)
        inside = (row[: len(windows)] == row[n - 1 :]) & counts[windows].all(1)
        means = np.lib.stride_tricks.sliding_window_view(found, n).mean(1)
        grams.append(windows[inside])
        of.append(traced.predicted[row[: len(windows)][inside]])
        weights.append(means[inside])
    every, belongs, weight = np.concatenate(grams), np.concatenate(of), np.concatenate(weights)
    between = joint(words[0]) if len(words) else " "
    best = [
        _best(model.alphabet, every[belongs == i], weight[belongs == i], top, min_count)
        for i in range(len(model.classes))
    ]
    return Phrases(
        n=n,
        classes={
            label: tuple(replace(phrase, between=between) for phrase in found)
            for label, found in zip(model.classes, best, strict=True)
        },
    )


def _counted(model: Model) -> NDArray[np.bool_]:
    """Which symbols phrases may have, by their numbers."""
    found = np.arange(len(model.alphabet)) > UNKNOWN
    if model.tokens == "text":
        marks = [s for s in model.alphabet.symbols if not any(c.isalnum() for c in str(s))]
        found[model.alphabet.encode(tuple(marks))] = False
    return found


def _best(
    alphabet: Alphabet, grams: Ints, weights: NDArray[np.float64], top: int, min_count: int
) -> tuple[Phrase, ...]:
    """The n-grams of highest mean weight among those that occur often enough."""
    codes = np.zeros(len(grams), np.int64)
    for column in grams.T:  # number the distinct prefixes, one symbol longer each time
        codes = np.unique(codes * len(alphabet) + column, return_inverse=True)[1]
    counts = np.bincount(codes)
    means = np.bincount(codes, weights) / np.maximum(counts, 1)
    often = np.flatnonzero(counts >= max(min_count, 1))
    best = often[np.lexsort((-counts[often], -means[often]))[:top]]
    first = np.zeros(len(counts), np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return tuple(
        Phrase(
            symbols=alphabet.decode(grams[first[i]]), weight=float(means[i]), count=int(counts[i])
        )
        for i in best
    )
