"""The weights of words and pairs of words in a linear classifier of texts.

Logistic regression on which n-grams a text has, each scaled by its naive Bayes log ratio (Wang and
Manning, 2012). It takes seconds, knows no order beyond pairs, and is hard to beat on long texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.alphabet import START
from kleene.data.streaming import TrainingData

MIN_COUNT = 3
"""Occurrences from which on a pair of words counts."""
PENALTIES = (0.02, 0.1, 0.5)
"""Inverse strengths of the penalty; a fifth of the texts chooses one, for the commonest class."""
MOST_SYMBOLS = 10_000_000
"""Symbols that are looked at, at most."""

Weights = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Texts:
    """Training texts one after the other."""

    ids: Ints  # (symbol,)
    lengths: Ints  # (text,)
    labels: Ints  # (text,)

    @property
    def starts(self) -> Ints:
        """Where each text begins."""
        starts: Ints = np.cumsum(self.lengths) - self.lengths
        return starts

    def pairs(self, symbols: int) -> Ints:
        """Each symbol with the one before it, or the start token, as one number."""
        before = np.roll(self.ids, 1)
        before[self.starts[self.lengths > 0]] = START
        pairs: Ints = before * symbols + self.ids
        return pairs


def read_texts(examples: TrainingData, seed: int) -> Texts:
    """Take non-empty training texts out of their batches, up to a bound."""
    ids, lengths, labels, total = [], [], [], 0
    for batch in examples.batches(256, seed=seed):
        assert batch.labels is not None
        rows = np.concatenate([np.zeros(0, np.int64), *map(np.arange, batch.batch_sizes.tolist())])
        ids.append(batch.tokens[np.argsort(rows, kind="stable")].astype(np.int64))
        filled = batch.lengths > 0
        lengths.append(batch.lengths[filled])
        labels.append(batch.labels[filled])
        total += len(rows)
        if total >= MOST_SYMBOLS:
            break
    return Texts(
        ids=np.concatenate(ids), lengths=np.concatenate(lengths), labels=np.concatenate(labels)
    )


@dataclass(frozen=True, kw_only=True)
class NgramWeights:
    """What each n-gram of a text adds to the logits; one column for two classes, else one each."""

    words: Weights  # (symbol, column)
    pairs: Ints  # sorted numbers of pairs of symbols
    of_pairs: Weights  # (pair, column)

    def of_steps(self, pairs: Ints) -> Weights:
        """The weights of some steps, given as numbers of pairs: of the word and of the pair."""
        found = self.words[pairs % len(self.words)]
        at = np.minimum(np.searchsorted(self.pairs, pairs), len(self.pairs) - 1)
        known = self.pairs[at] == pairs if len(self.pairs) else np.zeros(len(pairs), bool)
        found[known] += self.of_pairs[at[known]]
        return found


def ngram_weights(texts: Texts, symbols: int, classes: int, seed: int) -> NgramWeights:
    """Learn the weights of all words, and of all pairs that occur often enough."""
    numbers = texts.pairs(symbols)
    pairs, counts = np.unique(numbers, return_counts=True)
    pairs = pairs[counts >= MIN_COUNT]
    features = _features(texts, numbers, pairs, symbols)
    random = np.random.default_rng(seed)
    held = random.random(len(texts.labels)) < 0.2
    commonest = texts.labels == np.bincount(texts.labels).argmax()
    penalty = _best_penalty(features, commonest, held)
    columns = [
        _fit(features, texts.labels == label, penalty)[0]
        for label in (range(classes) if classes > 2 else [1])
    ]
    weights = np.stack(columns, 1)
    weights -= weights.mean(1, keepdims=True) if classes > 2 else 0
    return NgramWeights(words=weights[:symbols], pairs=pairs, of_pairs=weights[symbols:])


def _features(texts: Texts, numbers: Ints, pairs: Ints, symbols: int) -> Any:
    """Which words and pairs each text has, (text, n-gram), sparse."""
    from scipy.sparse import csr_array

    rows = np.repeat(np.arange(len(texts.lengths)), texts.lengths)
    at = np.minimum(np.searchsorted(pairs, numbers), max(len(pairs) - 1, 0))
    known = pairs[at] == numbers if len(pairs) else np.zeros(len(numbers), bool)
    columns = np.concatenate([texts.ids, symbols + at[known]])
    ones = np.ones(len(columns), np.float32)
    shape = len(texts.lengths), symbols + len(pairs)
    where = np.concatenate([rows, rows[known]]), columns
    table = csr_array((ones, tuple(axis.astype(np.int32) for axis in where)), shape=shape)
    table.sum_duplicates()
    table.data[:] = 1
    return table


def _best_penalty(features: Any, is_label: NDArray[np.bool_], held: NDArray[np.bool_]) -> float:
    """The one that does best on the texts held back; the strongest where none can be."""
    if not held.any() or held.all():
        return PENALTIES[0]
    errors = []
    for penalty in PENALTIES:
        weights, bias = _fit(features[~held], is_label[~held], penalty)
        errors.append(float(np.mean((features[held] @ weights + bias > 0) != is_label[held])))
    return PENALTIES[int(np.argmin(errors))]


def _fit(features: Any, is_label: NDArray[np.bool_], penalty: float) -> tuple[Weights, float]:
    """The weight of every n-gram for a class against the rest, and the bias."""
    if is_label.all() or not is_label.any():
        return np.zeros(features.shape[1], np.float32), 0.0
    from scipy.sparse import diags_array
    from sklearn.linear_model import LogisticRegression

    inside, outside = (1 + features[part].sum(0) for part in (is_label, ~is_label))
    ratio = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
    linear = LogisticRegression(C=penalty, solver="liblinear", dual=True, tol=1e-2, random_state=0)
    linear.fit(features @ diags_array(ratio.astype(np.float32)), is_label)
    weights: Weights = (linear.coef_[0] * ratio).astype(np.float32)
    return weights, float(linear.intercept_[0])
