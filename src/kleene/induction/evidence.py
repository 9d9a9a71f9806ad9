"""Labelled sequences as flat arrays, each distinct sequence once with its counts per class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.machine import Label, Symbol, Word


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Distinct words one after the other, and how many rows of each class every word has."""

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
        *,
        alphabet: Sequence[Symbol],
        classes: Sequence[Label],
    ) -> Evidence:
        """Count the rows; those with a symbol outside the alphabet are left out."""
        columns = {symbol: column for column, symbol in enumerate(alphabet)}
        class_ids = {label: i for i, label in enumerate(classes)}
        encoded = [
            np.array([columns.get(symbol, -1) for symbol in word], dtype=np.int32) for word in words
        ]
        numbers = np.array([class_ids[label] for label in labels], dtype=np.int64)
        return cls.from_columns(encoded, numbers, alphabet=alphabet, classes=classes)

    @classmethod
    def from_columns(
        cls,
        words: Sequence[NDArray[Any]],
        labels: NDArray[Any],
        *,
        alphabet: Sequence[Symbol],
        classes: Sequence[Label],
    ) -> Evidence:
        """Count rows of column numbers, with class numbers; those below 0 are left out."""
        seen: dict[bytes, int] = {}
        numbers = np.full(len(words), -1, dtype=np.int64)
        for i, word in enumerate(words):
            if not len(word) or word.min() >= 0:
                numbers[i] = seen.setdefault(word.astype(np.int32).tobytes(), len(seen))
        counts = np.zeros((len(seen), len(classes)), dtype=np.int64)
        known = numbers >= 0
        np.add.at(counts, (numbers[known], np.asarray(labels)[known]), 1)
        lengths = np.array([len(word) for word in seen], dtype=np.int64) // 4
        return cls(
            alphabet=tuple(alphabet),
            classes=tuple(classes),
            symbols=_symbols(seen),
            starts=np.concatenate([[0], np.cumsum(lengths)]),
            counts=counts,
        )

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

    def subset(self, chosen: NDArray[np.int64]) -> Evidence:
        """The evidence of some of the distinct words."""
        lengths = np.diff(self.starts)[chosen]
        parts = [self.symbols[self.starts[w] : self.starts[w + 1]] for w in chosen]
        return Evidence(
            alphabet=self.alphabet,
            classes=self.classes,
            symbols=np.concatenate([*parts, np.empty(0, np.int32)]).astype(np.int32),
            starts=np.concatenate([[0], np.cumsum(lengths)]),
            counts=self.counts[chosen],
        )

    def joined(self, other: Evidence) -> Evidence:
        """The rows of both, over the same alphabet and classes."""
        return self._combined(other, 1)

    def without(self, other: Evidence) -> Evidence:
        """The rows that are left if those of another are taken away."""
        return self._combined(other, -1)

    def _combined(self, other: Evidence, sign: int) -> Evidence:
        numbers = {word: i for i, word in enumerate(self._keys())}
        for word in other._keys():
            numbers.setdefault(word, len(numbers))
        counts = np.zeros((len(numbers), len(self.classes)), dtype=np.int64)
        counts[: self.num_words] = self.counts
        place = np.array([numbers[word] for word in other._keys()], dtype=np.int64)
        counts[place] += sign * other.counts
        lengths = np.array([len(word) for word in numbers], dtype=np.int64) // 4
        every = Evidence(
            alphabet=self.alphabet,
            classes=self.classes,
            symbols=_symbols(numbers),
            starts=np.concatenate([[0], np.cumsum(lengths)]),
            counts=np.maximum(counts, 0),
        )
        return every.subset(np.flatnonzero(every.counts.any(1)))

    def _keys(self) -> Iterator[bytes]:
        """Each word as bytes."""
        for start, end in pairwise(self.starts.tolist()):
            yield self.symbols[start:end].tobytes()


def _symbols(words: Iterable[bytes]) -> NDArray[np.int32]:
    """The columns of all words; a copy, since kernels are compiled for writable arrays only."""
    return np.frombuffer(b"".join(words), dtype=np.int32).copy()
