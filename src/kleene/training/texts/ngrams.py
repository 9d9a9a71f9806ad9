"""The weights of words and pairs of words in a linear classifier of texts.

Logistic regression on how often a text has each word, and each pair of words that stand up to three
places apart, scaled by its naive Bayes log ratio (Wang and Manning, 2012). It takes seconds
and is hard to beat on long texts. Rare words and pairs are left out: their weights would know the
labels of the few texts they stand in.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.alphabet import START
from kleene.data.examples import Examples

MAX_SYMBOLS = 10_000_000
"""Symbols that are looked at, at most."""
DISTANCE = 3
"""How far apart the words of a pair may stand; with more than two classes they are neighbours."""
MIN_COUNT, SYMBOLS_PER_COUNT = 3, 400_000
"""Occurrences from which on a pair counts: so many, and more in many texts. Words: twice that."""
PENALTIES = (0.02, 0.1, 0.5)
"""Inverse strengths of the penalty; a fifth of the texts chooses one, for the commonest class."""
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

    @property
    def rows(self) -> Ints:
        """The text of each symbol."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def pairs(self, symbols: int, distance: int = 1) -> Ints:
        """Each symbol with the one so many places before it, as one number.

        Where there is none, it is the start token.
        """
        before = np.roll(self.ids, distance)
        place = np.arange(len(self.ids)) - np.repeat(self.starts, self.lengths)
        before[place < distance] = START
        pairs: Ints = ((distance - 1) * symbols + before) * symbols + self.ids
        return pairs

    def select(self, chosen: NDArray[np.bool_]) -> Texts:
        """Some of the texts."""
        return Texts(
            ids=self.ids[np.repeat(chosen, self.lengths)],
            lengths=self.lengths[chosen],
            labels=self.labels[chosen],
        )

    def means(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The mean of one value a symbol over each text."""
        sums = np.bincount(self.rows, values, len(self.lengths))
        return (sums / np.maximum(self.lengths, 1)).astype(np.float32)


def read_texts(examples: Examples, seed: int) -> Texts:
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
        if total >= MAX_SYMBOLS:
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
    distance: int
    slope: float = 1.0
    bias: float = 0.0
    """Two classes: logit = slope * mean over the steps of a text + bias, on texts held back."""

    def of_steps(self, texts: Texts) -> Weights:
        """The weights of every step: of the word, and of the pairs that end there."""
        found = self.words[texts.ids]
        for distance in range(1, self.distance + 1 if len(self.pairs) else 1):
            numbers = texts.pairs(len(self.words), distance)
            at = np.minimum(np.searchsorted(self.pairs, numbers), len(self.pairs) - 1)
            known = self.pairs[at] == numbers
            found[known] += self.of_pairs[at[known]]
        return found


def ngram_weights(texts: Texts, symbols: int, classes: int, seed: int) -> NgramWeights:
    """Learn the weights of all words and pairs that occur often enough."""
    distance = DISTANCE if classes <= 2 else 1
    least = max(MIN_COUNT, len(texts.ids) // SYMBOLS_PER_COUNT)
    numbers = [texts.pairs(symbols, d) for d in range(1, distance + 1)]
    counted = [np.unique(some, return_counts=True) for some in numbers]
    pairs = np.concatenate([some[counts >= least] for some, counts in counted])
    often = np.bincount(texts.ids, minlength=symbols) >= 2 * least
    features = _features(texts, numbers, pairs, often)
    held = np.random.default_rng(seed).random(len(texts.labels)) < 0.2

    def weights(columns: list[Weights]) -> NgramWeights:
        table = np.stack(columns, 1)
        table -= table.mean(1, keepdims=True) if classes > 2 else 0
        return NgramWeights(
            words=table[:symbols], pairs=pairs, of_pairs=table[symbols:], distance=distance
        )

    if classes > 2:
        commonest = texts.labels == np.bincount(texts.labels).argmax()
        penalty, _ = _best_penalty(features, commonest, held)
        return weights([_fit(features, texts.labels == c, penalty)[0] for c in range(classes)])
    penalty, without = _best_penalty(features, texts.labels == 1, held)
    found = weights([_fit(features, texts.labels == 1, penalty)[0]])
    rest = texts.select(held)
    means = rest.means(weights([without]).of_steps(rest)[:, 0])
    slope, bias = _calibrated(means, rest.labels == 1)
    return replace(found, slope=slope, bias=bias)


def _features(texts: Texts, numbers: list[Ints], pairs: Ints, often: NDArray[np.bool_]) -> Any:
    """How often each text has each frequent word and pair, (text, n-gram), sparse."""
    from scipy.sparse import csr_array

    symbols, rows = len(often), texts.rows
    kept = often[texts.ids]
    where = [(rows[kept], texts.ids[kept])]
    for some in numbers if len(pairs) else []:
        at = np.minimum(np.searchsorted(pairs, some), len(pairs) - 1)
        known = pairs[at] == some
        where.append((rows[known], symbols + at[known]))
    row, column = (np.concatenate(axis).astype(np.int32) for axis in zip(*where, strict=True))
    shape = len(texts.lengths), symbols + len(pairs)
    table = csr_array((np.ones(len(row), np.float32), (row, column)), shape=shape)
    table.sum_duplicates()
    return table


def _best_penalty(
    features: Any, is_label: NDArray[np.bool_], held: NDArray[np.bool_]
) -> tuple[float, Weights]:
    """The one that does best on the texts held back, and the weights learned without these.

    The strongest where none can be held back.
    """
    if not held.any() or held.all():
        return PENALTIES[0], np.zeros(features.shape[1], np.float32)
    found, errors = [], []
    for penalty in PENALTIES:
        weights, bias = _fit(features[~held], is_label[~held], penalty)
        found.append(weights)
        errors.append(float(np.mean((features[held] @ weights + bias > 0) != is_label[held])))
    best = int(np.argmin(errors))
    return PENALTIES[best], found[best]


def _calibrated(means: Weights, is_label: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and bias of the logit, by logistic regression on texts of both classes."""
    if not len(means) or is_label.all() or not is_label.any() or np.ptp(means) == 0:
        return 1.0, 0.0
    from sklearn.linear_model import LogisticRegression

    spread = float(means.std())
    linear = LogisticRegression(C=100.0).fit(means[:, None] / spread, is_label)
    return float(linear.coef_[0, 0]) / spread, float(linear.intercept_[0])


def _fit(features: Any, is_label: NDArray[np.bool_], penalty: float) -> tuple[Weights, float]:
    """The weight of every n-gram for a class against the rest, and the bias."""
    if is_label.all() or not is_label.any():
        return np.zeros(features.shape[1], np.float32), 0.0
    from scipy.sparse import diags_array
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    inside, outside = (1 + (features[part] > 0).sum(0) for part in (is_label, ~is_label))
    ratio = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
    linear = LogisticRegression(C=penalty, solver="liblinear", dual=True, tol=1e-2, random_state=0)
    with warnings.catch_warnings():  # texts with a word hundreds of times; a rough optimum will do
        warnings.simplefilter("ignore", ConvergenceWarning)
        linear.fit(features @ diags_array(ratio.astype(np.float32)), is_label)
    weights: Weights = (linear.coef_[0] * ratio).astype(np.float32)
    return weights, float(linear.intercept_[0])
