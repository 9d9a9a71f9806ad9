"""Labelled sequences as flat arrays, each distinct sequence once with its counts per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.induction.kernels import Words
from kleene.machine import Label, Symbol, Word


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Distinct words in a fixed order, and how many rows of each class every word has.

    The order of the rows does not matter: words are sorted.
    """

    alphabet: tuple[Symbol, ...]
    classes: tuple[Label, ...]
    symbols: NDArray[np.int32]
    """Column of each symbol of all words, one word after the other."""
    starts: NDArray[np.int64]
    """Where each word starts in `symbols`; one more entry for the end."""
    counts: NDArray[np.int64]
    """Rows of each class, (word, class)."""

    @classmethod
    def from_rows(
        cls,
        words: Sequence[Word],
        labels: Sequence[Label],
        weights: NDArray[np.int64] | None = None,
        *,
        alphabet: Sequence[Symbol],
        classes: Sequence[Label],
    ) -> Evidence:
        """Count the rows, each as often as its weight; rows with an unknown symbol are left out."""
        columns = {symbol: column for column, symbol in enumerate(alphabet)}
        class_ids = {label: i for i, label in enumerate(classes)}
        encoded = [
            np.array([columns.get(symbol, -1) for symbol in word], dtype=np.int32) for word in words
        ]
        numbers = np.array([class_ids[label] for label in labels], dtype=np.int64)
        return cls.from_columns(encoded, numbers, weights, alphabet=alphabet, classes=classes)

    @classmethod
    def from_columns(
        cls,
        words: Sequence[NDArray[Any]],
        labels: NDArray[Any],
        weights: NDArray[np.int64] | None = None,
        *,
        alphabet: Sequence[Symbol],
        classes: Sequence[Label],
    ) -> Evidence:
        """Count rows of column and class numbers; rows with a column below 0 are left out."""
        known = [i for i, word in enumerate(words) if not len(word) or word.min() >= 0]
        keys = [words[i].astype(np.int32).tobytes() for i in known]
        counts = np.zeros((len(keys), len(classes)), dtype=np.int64)
        rows = 1 if weights is None else weights[known]
        counts[np.arange(len(keys)), np.asarray(labels, dtype=np.int64)[known]] = rows
        return cls._from_keys(tuple(alphabet), tuple(classes), keys, counts)

    @classmethod
    def _from_keys(
        cls,
        alphabet: tuple[Symbol, ...],
        classes: tuple[Label, ...],
        keys: Sequence[bytes],
        counts: NDArray[np.int64],
    ) -> Evidence:
        """Add up the counts of equal words, given as bytes; words without rows are left out."""
        place = {key: i for i, key in enumerate(sorted(set(keys)))}
        total = np.zeros((len(place), len(classes)), dtype=np.int64)
        np.add.at(total, np.array([place[key] for key in keys], dtype=np.int64), counts)
        lengths = np.array([len(key) for key in place], dtype=np.int64) // 4
        every = cls(
            alphabet=alphabet,
            classes=classes,
            # a copy, since kernels are compiled for writable arrays only
            symbols=np.frombuffer(b"".join(place), dtype=np.int32).copy(),
            starts=np.concatenate([[0], np.cumsum(lengths)]),
            counts=np.maximum(total, 0),
        )
        return every if (total > 0).any(1).all() else every.subset(np.flatnonzero(total.max(1) > 0))

    @cached_property
    def rows(self) -> int:
        """How many rows there are, repeats counted."""
        return int(self.counts.sum())

    @property
    def num_words(self) -> int:
        """How many distinct words there are."""
        return len(self.counts)

    @cached_property
    def log_factorials(self) -> NDArray[np.float64]:
        """log2 of 0!, 1!, ..., as far as the code of a state needs them."""
        numbers = np.arange(1, self.rows + len(self.classes) + 1)
        return np.concatenate([[0.0], np.cumsum(np.log2(numbers))])

    @cached_property
    def arrays(self) -> Words:
        """What compiled loops take."""
        return Words(self.symbols, self.starts, self.counts, self.log_factorials)

    def subset(self, chosen: NDArray[np.int64]) -> Evidence:
        """The evidence of some of the distinct words."""
        parts = [self.symbols[self.starts[w] : self.starts[w + 1]] for w in chosen]
        return Evidence(
            alphabet=self.alphabet,
            classes=self.classes,
            symbols=np.concatenate([*parts, np.empty(0, np.int32)]).astype(np.int32),
            starts=np.concatenate([[0], np.cumsum(np.diff(self.starts)[chosen])]),
            counts=self.counts[chosen],
        )

    def sample(self, size: int, seed: int) -> Evidence:
        """A sample of at most so many distinct words; words of many rows come first."""
        if self.num_words <= size:
            return self
        random, rows = np.random.default_rng(seed), self.counts.sum(1)
        order = np.argsort(random.exponential(size=len(rows)) / rows)
        return self.subset(np.sort(order[:size]))

    def joined(self, other: Evidence, times: int = 1) -> Evidence:
        """The rows of both, over the same alphabet and classes."""
        words = (self.symbols, self.starts), (other.symbols, other.starts)
        keys = [
            symbols[start:end].tobytes()
            for symbols, starts in words
            for start, end in pairwise(starts.tolist())
        ]
        counts = np.concatenate([self.counts, times * other.counts])
        return Evidence._from_keys(self.alphabet, self.classes, keys, counts)

    def without(self, other: Evidence) -> Evidence:
        """The rows that are left if the rows of another are taken away."""
        return self.joined(other, times=-1)

    def split(self, share: float, random: np.random.Generator) -> tuple[Evidence, Evidence]:
        """About a share of the rows, drawn at random, held out: (the others, the held-out rows)."""
        drawn = random.binomial(self.counts, share)
        chosen = np.flatnonzero(drawn.any(1))
        held_out = replace(self.subset(chosen), counts=drawn[chosen])
        return self.without(held_out), held_out
