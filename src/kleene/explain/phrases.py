"""Runs of symbols that speak for a class: n-grams by their mean weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.arrays import Floats, Ints
from kleene.data.alphabet import UNKNOWN
from kleene.errors import SettingError
from kleene.explain.markup import Rendered, Table, as_json, as_text, joint
from kleene.explain.methods import alpha, level, predicting_states
from kleene.explain.traces import TracedBatch, batched_traces, encode, require_symbols
from kleene.machine import Label, Symbol, Word
from kleene.model import Model
from kleene.nn.classifier import Classifier, adds_up, full_weights, lead


@dataclass(frozen=True, kw_only=True)
class Phrase:
    """Some symbols in a row."""

    symbols: tuple[Symbol, ...]
    weight: float
    """The mean over the window and over all occurrences."""
    count: int
    """Its occurrences."""
    between: str = " "
    """What stands between two symbols where the phrase is shown."""

    def __str__(self) -> str:
        return f"{self.between.join(map(as_text, self.symbols))} ({self.weight:.2f})"


@dataclass(frozen=True, kw_only=True)
class Phrases(Rendered):
    """For each class its phrases, the strongest first."""

    n: int
    """Symbols in a phrase."""
    classes: dict[Label, tuple[Phrase, ...]]

    def tables(self) -> list[Table]:
        """A class a row."""
        rows = [
            [as_text(label), ", ".join(map(str, found)) or "none"]
            for label, found in self.classes.items()
        ]
        return [(("class", f"{self.n}-grams"), rows)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        classes = {label: list(map(asdict, found)) for label, found in self.classes.items()}
        plain: dict[str, Any] = as_json({"n": self.n, "classes": classes})
        return plain


def phrases(
    model: Model, words: Sequence[Word], *, n: int = 2, top: int = 10, min_count: int = 1
) -> Phrases:
    """The n-grams of highest mean weight for each class.

    The weight of a step is that of the states it leads to, for the predicted class, where states
    have weights; else the paper's P_t(j). Each n-gram stands for the class in whose words it is
    most frequent. Windows with a symbol outside the alphabet do not count, nor, in prose, with a
    punctuation mark.
    """
    if n < 1:
        raise SettingError(f"n must be at least 1, got {n}")
    require_symbols(model, "phrases")
    network = model.network
    counts = _counted(model)
    grams, of, weights = [np.zeros((0, n), np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    for traced in batched_traces(network, encode(model, words)):
        found = _weights(network, traced)[traced.mask]
        ids, row = traced.ids, np.nonzero(traced.mask)[0]
        if len(ids) < n:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(ids, n)
        inside = (row[: len(windows)] == row[n - 1 :]) & counts[windows].all(1)
        means = np.lib.stride_tricks.sliding_window_view(found, n).mean(1)
        grams.append(windows[inside])
        of.append(traced.predicted[row[: len(windows)][inside]])
        weights.append(means[inside])
    every, classes, weight = np.concatenate(grams), np.concatenate(of), np.concatenate(weights)
    codes = np.zeros(len(every), np.int64)
    for column in every.T:  # number the distinct prefixes, one symbol longer each time
        codes = np.unique(codes * len(model.alphabet) + column, return_inverse=True)[1]
    between = joint(words[0]) if len(words) else " "
    found_phrases: dict[Label, tuple[Phrase, ...]] = {}
    own = _own_class(codes, classes, len(model.classes))
    for i, label in enumerate(model.classes):
        mine = np.flatnonzero((classes == i) & (own[codes] == i))
        pairs, first, place, often = np.unique(
            codes[mine], return_index=True, return_inverse=True, return_counts=True
        )
        mean = np.bincount(place, weight[mine], len(pairs)) / np.maximum(often, 1)
        enough = np.flatnonzero(often >= max(min_count, 1))
        best = enough[np.lexsort((-often[enough], -mean[enough]))[:top]]
        found_phrases[label] = tuple(
            Phrase(
                symbols=model.alphabet.decode(every[mine[first[b]]]),
                weight=float(mean[b]),
                count=int(often[b]),
                between=between,
            )
            for b in best
        )
    return Phrases(n=n, classes=found_phrases)


def _weights(network: Classifier, traced: TracedBatch) -> Floats:
    """The weight of each step for the predicted class, (batch, time).

    Unlike contributions, these do not shrink with the length of a word, so that steps of different
    words can be compared.
    """
    if not adds_up(network):
        return level(network, traced, predicting_states(network, traced))
    with torch.inference_mode():
        found = lead(alpha(traced.trace) @ full_weights(network), traced.predicted_classes)
    return found[:, 1:].float().cpu().numpy()


def _own_class(codes: Ints, classes: Ints, count: int) -> Ints:
    """For each n-gram the class in whose words its share of all n-grams is greatest."""
    sizes = np.maximum(np.bincount(classes, minlength=count), 1)
    pairs, often = np.unique(codes * count + classes, return_counts=True)
    order = np.lexsort((often / sizes[pairs % count], pairs // count))  # the greatest comes last
    own = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
    own[pairs[order] // count] = pairs[order] % count
    return own


def _counted(model: Model) -> NDArray[np.bool_]:
    """Which symbols phrases may have, by their numbers."""
    found = np.arange(len(model.alphabet)) > UNKNOWN
    if model.tokens == "text":
        marks = [s for s in model.alphabet.symbols if not any(c.isalnum() for c in str(s))]
        found[model.alphabet.encode(tuple(marks))] = False
    return found
