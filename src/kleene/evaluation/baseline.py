"""A bag of 1-3-grams with logistic regression: what a network has to beat."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.batch import Encoded
from kleene.data.examples import Examples

LENGTHS = (1, 2, 3)
MAX_ROWS, MAX_NGRAMS, MAX_FEATURES = 100_000, 20_000_000, 50_000
"""Bounds that keep the fit to some seconds: training rows, their n-grams, distinct n-grams."""
STRENGTHS, INNER = (1.0, 0.1, 10.0), 0.2
"""Inverse regularisation strengths, and the share of training rows that chooses one."""


def ngram_accuracy(training: Examples, held_out: Examples, *, seed: int = 0) -> float:
    """Accuracy on held-out rows of a logistic regression on n-gram counts."""
    return float((ngram_answers(training, held_out, seed=seed) == held_out.labels).mean())


def ngram_answers(training: Examples, held_out: Examples, *, seed: int = 0) -> Ints:
    """Classes that a logistic regression on n-gram counts gives held-out rows."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    training = _bounded(training, seed)
    classes = np.unique(training.labels)
    if len(classes) < 2:
        return np.full(len(held_out), classes[0])
    symbols = np.unique(np.concatenate([np.zeros(0, np.int64), *training.words]))
    base = len(symbols) + 1
    rows, keys = ngrams(_numbered(training.words, symbols), base)
    known, counts = np.unique(keys, return_counts=True)
    known = np.sort(known[np.argsort(-counts, kind="stable")[:MAX_FEATURES]])
    table, labels = _table(rows, keys, known, len(training)), training.labels
    inner = np.random.default_rng(seed).random(len(labels)) < INNER

    def fitted(strength: float, chosen: NDArray[np.bool_]) -> LogisticRegression:
        return LogisticRegression(C=strength, max_iter=300).fit(table[chosen], labels[chosen])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = STRENGTHS[0]
        if len(np.unique(labels[~inner])) > 1 and inner.any():
            scores = [fitted(C, ~inner).score(table[inner], labels[inner]) for C in STRENGTHS]
            best = STRENGTHS[int(np.argmax(scores))]
        model = fitted(best, np.ones(len(labels), dtype=bool))
    unseen = _table(*ngrams(_numbered(held_out.words, symbols), base), known, len(held_out))
    answers: Ints = model.predict(unseen)
    return answers


def _numbered(words: Sequence[Encoded], symbols: Ints) -> list[Ints]:
    """Words over 0, 1, ... for the given symbols, and one more number for all others."""
    found = []
    for word in words:
        numbers = np.searchsorted(symbols, word)
        same = symbols[np.minimum(numbers, len(symbols) - 1)] == word if len(symbols) else False
        found.append(np.where(same, numbers, len(symbols)))
    return found


def ngrams(words: Sequence[Encoded], base: int) -> tuple[Ints, Ints]:
    """All n-grams of some words: the row of each, and a number that identifies it.

    Ids must be below `base`.

    >>> rows, keys = ngrams([np.array([1, 2]), np.array([1])], base=10)
    >>> rows.tolist(), keys.tolist()  # two symbols, one symbol, one pair
    ([0, 0, 1, 0], [1, 2, 1, 112])
    """
    row = np.repeat(np.arange(len(words)), [len(word) for word in words])
    flat = np.concatenate([np.zeros(0, np.int64), *words])
    keys, rows, found = flat, [], []
    for length in LENGTHS:
        if length > 1:
            keys = keys[: len(flat) - length + 1] * base + flat[length - 1 :]
        whole = row[: len(keys)] == row[length - 1 :]
        rows.append(row[: len(keys)][whole])
        found.append(keys[whole] + sum(base**n for n in range(2, length + 1)))
    return np.concatenate(rows), np.concatenate(found)


def _bounded(examples: Examples, seed: int) -> Examples:
    """As many rows, drawn at random, as the bounds allow."""
    order = np.random.default_rng(seed).permutation(len(examples))
    sizes = np.cumsum(len(LENGTHS) * examples.lengths[order])
    most = max(1, min(MAX_ROWS, int(np.searchsorted(sizes, MAX_NGRAMS, side="right"))))
    return examples if len(order) <= most else examples.select(np.sort(order[:most]))


def _table(rows: Ints, keys: Ints, known: Ints, size: int) -> Any:
    """log(1 + count) of the known n-grams, as a sparse table."""
    from scipy.sparse import csr_matrix

    columns = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
    kept = known[columns] == keys if len(known) else np.zeros(len(keys), dtype=bool)
    ones = np.ones(int(kept.sum()))
    table = csr_matrix((ones, (rows[kept], columns[kept])), shape=(size, max(len(known), 1)))
    table.sum_duplicates()
    table.data = np.log1p(table.data)
    return table
