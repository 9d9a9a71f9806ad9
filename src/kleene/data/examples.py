"""Words and labels as numbers, in memory or on disk, ready to be cut into batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Floats, Ints
from kleene.data.batch import Batch, Encoded, batches, make_batch
from kleene.data.store import StoredWords
from kleene.errors import DataError

MAX_ROWS, MAX_SYMBOLS = 20_000, 4 * 2**20
"""At most so many words on disk are taken into memory, held out or sampled."""


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Encoded words, the class of each, and the key by which a curriculum goes."""

    words: Sequence[Encoded]
    labels: NDArray[Any]
    keys: Ints | None = None
    """How hard each word is; its length where nothing is given."""
    weights: Floats | None = None
    """How much each row counts in the loss; all alike where nothing is given."""

    def __post_init__(self) -> None:
        if len(self.words) != len(self.labels):
            found = f"({len(self.words)}), got {len(self.labels)}"
            raise DataError(f"expected one label per word {found}")

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.words)

    @property
    def lengths(self) -> NDArray[Any]:
        """The length of each word."""
        return self.words.lengths if isinstance(self.words, StoredWords) else self._lengths

    @cached_property
    def _lengths(self) -> Ints:
        return np.array([len(word) for word in self.words], dtype=np.int64)

    @property
    def difficulty(self) -> NDArray[Any]:
        """The key of each word."""
        return self.lengths if self.keys is None else self.keys

    @property
    def hardest(self) -> float:
        """The highest key."""
        return float(self.difficulty.max())

    def easiest(self, count: int) -> Ints:
        """The `count` lowest keys."""
        return np.sort(self.difficulty)[:count]

    def class_counts(self, classes: int) -> Ints:
        """How many words each class has."""
        return np.bincount(self.labels, minlength=classes)

    def batches(self, size: int, *, seed: int, limit: float | None = None) -> Iterator[Batch]:
        """Shuffled batches of words of near lengths, of difficulty up to `limit`."""
        return map(self.batch, self.plan(size, seed=seed, limit=limit))

    def plan(self, size: int, *, seed: int, limit: float | None = None) -> list[Ints]:
        """Which words go into which batch; the same for the same seed."""
        if limit is None:
            return batches(self.lengths, size, seed=seed)
        chosen = np.flatnonzero(self.difficulty <= limit)
        return [chosen[part] for part in batches(self.lengths[chosen], size, seed=seed)]

    def draws(self, count: int, size: int, *, seed: int, limit: float | None = None) -> list[Ints]:
        """Batches drawn with replacement, in turns by length and by word; the same for a seed.

        By length, every length up to the limit is as likely, so that short words come often.
        """
        random = np.random.default_rng(seed)
        order = np.argsort(self.lengths, kind="stable")
        if limit is not None:
            order = order[self.difficulty[order] <= limit]
        lengths = self.lengths[order]
        kinds = np.unique(lengths)
        found = []
        for i in range(count):
            if i % 2:
                chosen = random.integers(0, len(order), size)
            else:
                drawn = random.choice(kinds, size)
                low, high = (np.searchsorted(lengths, drawn, side) for side in ("left", "right"))
                chosen = low + (random.random(size) * (high - low)).astype(np.int64)
            found.append(order[chosen])
        return found

    def batch(self, order: Ints) -> Batch:
        """The words of the given indices, packed."""
        batch = make_batch(self.words, self.labels, order=order)
        if self.weights is None:
            return batch
        return replace(batch, weights=self.weights[batch.order])

    def in_order(self, size: int) -> Iterator[Batch]:
        """All words once, shortest first: for evaluation."""
        return map(self.batch, batches(self.lengths, size, seed=0, shuffle=False))

    def parts(self) -> Iterator[Examples]:
        """All rows in order, in parts that fit into memory; at once if they are there already."""
        if not isinstance(self.words, StoredWords):
            yield self
            return
        part = np.cumsum(self.lengths) // MAX_SYMBOLS
        for number in range(int(part[-1]) + 1 if len(part) else 0):
            yield self._loaded(np.flatnonzero(part == number))

    def sample(self, seed: int) -> Examples:
        """The rows themselves, or as many as fit into memory where they are on disk."""
        if not isinstance(self.words, StoredWords):
            return self
        chosen = np.random.default_rng(seed).permutation(len(self))
        return self._loaded(np.sort(chosen[: int(self._bounded(1.0) * len(self))]))

    def _loaded(self, indices: Ints) -> Examples:
        some = self.select(indices)
        return replace(some, words=list(some.words))

    def _bounded(self, share: float) -> float:
        if not isinstance(self.words, StoredWords):
            return share
        rows, symbols = max(len(self), 1), max(int(self.lengths.sum()), 1)
        return min(share, MAX_ROWS / rows, MAX_SYMBOLS / symbols)

    def select(self, indices: Ints) -> Examples:
        """The examples of the given indices."""
        words, keys, weights = self.words, self.keys, self.weights
        some = words.select(indices) if isinstance(words, StoredWords) else None
        return Examples(
            words=[words[i] for i in indices] if some is None else some,
            labels=self.labels[indices],
            keys=None if keys is None else keys[indices],
            weights=None if weights is None else weights[indices],
        )

    def split(self, share: float, seed: int, *, longer_than: int = -1) -> tuple[Examples, Examples]:
        """Two parts, the second with about `share` of each class's longer words, at random.

        The first has at least one row of each class. Of rows on disk, the second is of a bounded
        size.
        """
        share, random = self._bounded(share), np.random.default_rng(seed)
        held = np.zeros(len(self), dtype=bool)
        for label in np.unique(self.labels):
            chosen = (self.labels == label) & (self.lengths > longer_than)
            members = random.permutation(np.flatnonzero(chosen))
            held[members[: min(round(share * len(members)), len(members) - 1)]] = True
        return self.select(np.flatnonzero(~held)), self.select(np.flatnonzero(held))

    def folds(self, count: int, seed: int) -> list[Ints]:
        """Indices of so many parts of about equal size, with the classes spread evenly."""
        random = np.random.default_rng(seed)
        order = random.permutation(len(self))
        order = order[np.argsort(self.labels[order], kind="stable")]
        return [np.sort(order[i::count]) for i in range(count)]
