"""Training texts one after the other, for counting n-grams."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.alphabet import START
from kleene.data.examples import Examples

MOST_SYMBOLS = 10_000_000
"""Symbols that are looked at, at most."""


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
        if total >= MOST_SYMBOLS:
            break
    return Texts(
        ids=np.concatenate(ids), lengths=np.concatenate(lengths), labels=np.concatenate(labels)
    )
