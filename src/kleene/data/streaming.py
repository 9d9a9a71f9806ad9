"""Examples on disk: batches by a bounded shuffle, in constant memory.

An epoch goes through the blocks of a store in random order, a window of several blocks at a time.
The words of a window are dealt out as `Examples` deals out all: shuffled, by near lengths. A corpus
that fits into one window is dealt out exactly as in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.batch import Batch, Encoded, batches, make_batch
from kleene.data.examples import Examples
from kleene.data.store import Block, Store

WINDOW = 16
"""Blocks whose words are shuffled together: up to 65,536 words, or 16 million symbols."""
MOST_HELD, MOST_SAMPLED = 20_000, 4 * 2**20  # words, and symbols, of what is taken into memory


@dataclass(frozen=True, kw_only=True)
class Streamed:
    """The words of a store but those held back, as the training loop wants them."""

    store: Store
    share: float = 0.0
    """Of every block's words, how many are held back."""
    seed: int = 0
    window: int = WINDOW
    _cache: dict[int, Block] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        """How many words there are."""
        return int(self._counts.sum())

    @cached_property
    def _counts(self) -> Ints:
        """How many words of each block are not held back."""
        words = self.store.index[:, 1]
        held = np.floor(self.share * np.cumsum(words)).astype(np.int64)
        counts: Ints = words - np.diff(held, prepend=0)
        return counts

    @cached_property
    def starts(self) -> Ints:
        """The index of the first word of each block among all of the store."""
        starts: Ints = np.cumsum(self.store.index[:, 1]) - self.store.index[:, 1]
        return starts

    def held_out(self) -> Examples | None:
        """The words held back, in memory; None where there are none."""
        away = self._away() if self.share else None
        return away if away else None

    def _away(self) -> Examples:
        words, labels = [], []
        for number in range(len(self._counts)):
            away = np.flatnonzero(~self.kept(number))
            if len(away):
                block = self.store.block(number)
                words += [block.word(i) for i in away.tolist()]
                labels.append(block.labels[away])
        return Examples(words=words, labels=np.concatenate([np.zeros(0, np.int64), *labels]))

    def sample(self) -> Examples:
        """A bounded number of words from everywhere, in memory."""
        share = bounded_share(self.store, 1.0)
        return Streamed(store=self.store, share=share, seed=self.seed + 1)._away()

    def parts(self) -> Iterator[Examples]:
        """The rows that are not held back, a window of blocks at a time."""
        for start in range(0, len(self._counts), self.window):
            words: list[Encoded] = []
            labels = []
            for number in range(start, min(start + self.window, len(self._counts))):
                block, kept = self.store.block(number), np.flatnonzero(self.kept(number))
                words += [block.word(i) for i in kept.tolist()]
                labels.append(block.labels[kept])
            yield Examples(words=words, labels=np.concatenate(labels))

    def kept(self, number: int) -> NDArray[np.bool_]:
        """Which words of a block are not held back."""
        words = int(self.store.index[number, 1])
        kept = np.ones(words, dtype=bool)
        away = words - int(self._counts[number])
        kept[np.random.default_rng([self.seed, number]).permutation(words)[:away]] = False
        return kept

    def class_counts(self, classes: int) -> Ints:
        """How many words each class has."""
        counts = np.zeros(classes, dtype=np.int64)
        for number in range(len(self.store.index)):
            labels = self.store.head(number)[1][self.kept(number)]
            counts += np.bincount(labels, minlength=classes)
        return counts

    @cached_property
    def _lengths(self) -> dict[int, int]:
        """How many words have each length."""
        found: dict[int, int] = {}
        for number in range(len(self.store.index)):
            lengths = self.store.head(number)[0][self.kept(number)]
            for length, count in zip(*np.unique(lengths, return_counts=True), strict=True):
                found[int(length)] = found.get(int(length), 0) + int(count)
        return dict(sorted(found.items()))

    def easiest(self, count: int) -> Ints:
        """The lengths of the `count` shortest words."""
        lengths, counts = list(self._lengths), list(self._lengths.values())
        return np.repeat(lengths, np.minimum(counts, count))[:count]

    @property
    def hardest(self) -> float:
        """The length of the longest word."""
        return float(max(self._lengths))

    def batches(self, size: int, *, seed: int, limit: float | None = None) -> Iterator[Batch]:
        """Shuffled batches of words of near lengths, of length up to `limit`."""
        for order in self.plan(size, seed=seed, limit=limit):
            yield self.batch(order)

    def plan(self, size: int, *, seed: int, limit: float | None = None) -> Plan:
        """Which words go into which batch; the same for the same seed."""
        counts = self._counts
        if limit is not None and limit < self.hardest:
            counts = np.array([len(self.chosen(n, limit)[0]) for n in range(len(counts))])
        return Plan(self, counts, size, seed, limit)

    def chosen(self, number: int, limit: float | None) -> tuple[Ints, Ints]:
        """The words of a block that take part, as indices into the block, and their lengths."""
        lengths, kept = self.store.head(number)[0], self.kept(number)
        if limit is not None:
            kept &= lengths <= limit
        return np.flatnonzero(kept), lengths[kept]

    def batch(self, order: Ints) -> Batch:
        """The words of the given indices, packed."""
        numbers = np.searchsorted(self.starts, order, side="right") - 1
        places = zip(numbers.tolist(), (order - self.starts[numbers]).tolist(), strict=True)
        words, labels = [], []
        for number, at in places:
            block = self.block(number)
            words.append(block.word(at))
            labels.append(block.labels[at])
        return make_batch(words, np.array(labels, dtype=np.int64))

    def block(self, number: int) -> Block:
        """A block, from memory where it was used lately."""
        if number not in self._cache:
            while len(self._cache) >= self.window:
                del self._cache[next(iter(self._cache))]
            self._cache[number] = self.store.block(number)
        return self._cache[number]


class Plan:
    """The batches of one epoch, made a window at a time; any of them can be asked for."""

    def __init__(
        self, examples: Streamed, counts: Ints, size: int, seed: int, limit: float | None
    ) -> None:
        self.examples, self.size, self.seed, self.limit = examples, size, seed, limit
        blocks = np.random.default_rng([seed, 1]).permutation(np.flatnonzero(counts))
        width = examples.window
        self.windows = [np.sort(blocks[i : i + width]) for i in range(0, len(blocks), width)]
        steps = [-(-int(counts[window].sum()) // size) for window in self.windows]
        self.ends = np.cumsum(steps, dtype=np.int64)
        self._made: tuple[int, list[Ints]] = (-1, [])

    def __len__(self) -> int:
        """How many batches there are."""
        return int(self.ends[-1]) if len(self.ends) else 0

    def __iter__(self) -> Iterator[Ints]:
        return (self[step] for step in range(len(self)))

    def __getitem__(self, step: int) -> Ints:
        """The indices of the words of a batch; -1 is the last one."""
        at = step + len(self) if step < 0 else step
        if not 0 <= at < len(self):
            raise IndexError(f"batch {step} of {len(self)}")
        window = int(np.searchsorted(self.ends, at, side="right"))
        if self._made[0] != window:
            self._made = window, self._batches(window)
        before = int(self.ends[window - 1]) if window else 0
        return self._made[1][at - before]

    def _batches(self, window: int) -> list[Ints]:
        found = [self.examples.chosen(int(n), self.limit) for n in self.windows[window]]
        starts = self.examples.starts[self.windows[window]]
        words = np.concatenate([at + start for (at, _), start in zip(found, starts, strict=True)])
        lengths = np.concatenate([lengths for _, lengths in found])
        seed = self.seed
        if len(self.windows) > 1:
            seed = int(np.random.SeedSequence([self.seed, window]).generate_state(1)[0])
        return [words[part] for part in batches(lengths, self.size, seed=seed)]


TrainingData: TypeAlias = Examples | Streamed
"""Encoded examples, in memory or on disk."""


def bounded_share(store: Store, share: float) -> float:
    """As much of a share of a store's words as goes into memory."""
    words, symbols = max(len(store), 1), max(store.symbols, 1)
    return min(share, MOST_HELD / words, MOST_SAMPLED / symbols)
