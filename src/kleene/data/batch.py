"""Words as arrays, side by side in time and without padding, the way a recurrence reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from kleene.arrays import Floats, Ints
from kleene.errors import DataError, SettingError

Encoded: TypeAlias = Ints | Floats
"""A word as numbers: ids, (time,), or vectors, (time, size)."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Some words in packed layout: longest first, all first symbols, then all second ones, ...

    The symbols of time t are `tokens[batch_sizes[:t].sum():][:batch_sizes[t]]`, one for each of the
    first `batch_sizes[t]` rows; that is the layout of `torch.nn.utils.rnn.PackedSequence`. Empty
    words are the last rows and have no token.
    """

    tokens: Encoded  # (total,) ids, or (total, size) vectors
    batch_sizes: Ints  # (longest,)
    lengths: Ints  # (batch,), descending
    order: Ints  # (batch,), the index of each row in the list the batch was made from
    labels: Ints | None = None  # (batch,)
    weights: Floats | None = None  # (batch,), how much each row counts in the loss

    def __len__(self) -> int:
        """The number of words."""
        return len(self.lengths)


def make_batch(
    encoded: Sequence[Encoded], labels: ArrayLike | None = None, order: ArrayLike | None = None
) -> Batch:
    """Pack the words `encoded[i]`, with their `labels[i]`, for every i in `order` (default: all).

    Words are ids, (time,), or vectors, (time, size), which stay floating point numbers.

    >>> batch = make_batch([np.array([4]), np.array([5, 6, 7]), np.array([8, 9])])
    >>> batch.tokens.tolist(), batch.batch_sizes.tolist(), batch.order.tolist()
    ([5, 8, 4, 6, 9, 7], [3, 2, 1], [1, 2, 0])
    """
    if labels is not None and np.size(labels) != len(encoded):
        raise DataError(f"expected one label per word ({len(encoded)}), got {np.size(labels)}")
    chosen = np.arange(len(encoded)) if order is None else np.asarray(order, dtype=np.int64)
    words = [encoded[i] for i in chosen.tolist()]
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    longest_first = np.argsort(-lengths, kind="stable")
    first = (np.cumsum(lengths) - lengths)[longest_first]
    chosen, lengths = chosen[longest_first], lengths[longest_first]

    steps = np.arange(lengths[0] if len(lengths) else 0)
    batch_sizes = len(lengths) - np.searchsorted(lengths[::-1], steps, side="right")
    time = np.repeat(steps, batch_sizes)
    row = np.arange(len(time)) - np.repeat(np.cumsum(batch_sizes) - batch_sizes, batch_sizes)
    flat = _joined(words)

    return Batch(
        tokens=flat[first[row] + time],
        batch_sizes=batch_sizes.astype(np.int64, copy=False),
        lengths=lengths,
        order=chosen,
        labels=None if labels is None else np.asarray(labels)[chosen].astype(np.int64, copy=False),
    )


def _joined(words: list[Encoded]) -> Encoded:
    """All words one after the other, of one kind."""
    shapes = {word.shape[1:] for word in words}
    if len(shapes) > 1 or any(len(shape) > 1 for shape in shapes):
        found = ", ".join(sorted(str(("time", *shape)) for shape in shapes)).replace("'", "")
        raise DataError(f"words must all be (time) or all (time, size), got shapes {found}")
    if shapes and shapes != {()}:
        return np.concatenate(words).astype(np.float32, copy=False)
    return np.concatenate([np.zeros(0, np.int64), *words]).astype(np.int64, copy=False)


def batches(lengths: ArrayLike, batch_size: int, *, seed: int, shuffle: bool = True) -> list[Ints]:
    """Split words into batches of near lengths: for each batch the indices of its words.

    Words of equal length are dealt out at random, the batches come in random order, and all of
    them are of nearly equal size. Without `shuffle`, the shortest words come first.
    """
    lengths = np.asarray(lengths)
    if batch_size < 1:
        raise SettingError(f"batch_size must be >= 1, got {batch_size}")
    if not len(lengths):
        return []
    random = np.random.default_rng(seed)
    dealt = random.permutation(len(lengths)) if shuffle else np.arange(len(lengths))
    by_length = dealt[np.argsort(lengths[dealt], kind="stable")]
    split = np.array_split(by_length, -(-len(lengths) // batch_size))
    return [split[i] for i in random.permutation(len(split))] if shuffle else split
