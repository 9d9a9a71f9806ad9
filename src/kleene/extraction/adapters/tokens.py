"""From sequences of symbols to batches of token ids, and from scores to labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from kleene.arrays import Ints
from kleene.errors import SettingError
from kleene.machine import Label, Symbol

Classify = Callable[[Sequence[Sequence[Symbol]]], Any]
"""A batch of sequences -> one label for each, as a list, an array or a tensor."""

BATCH = 512


class Tokens:
    """From sequences of symbols to rows of token ids."""

    def __init__(
        self, start: int | None, end: int | None, ids: Mapping[Symbol, int] | None
    ) -> None:
        self.start = [] if start is None else [start]
        self.end = [] if end is None else [end]
        self._ids = ids

    def __call__(self, symbols: Sequence[Symbol]) -> list[int]:
        """The ids of some symbols."""
        try:
            return [int(s) if self._ids is None else self._ids[s] for s in symbols]  # type: ignore[call-overload]
        except (KeyError, TypeError, ValueError):
            raise SettingError(
                f"symbols must be token ids, or `ids` must map them to some, got {symbols!r:.60}"
            ) from None

    def by_length(self, words: Sequence[Sequence[Symbol]]) -> Iterator[tuple[Ints, Ints]]:
        """Indices of words of one length, and their ids with start and end, (word, time)."""
        lengths = np.array([len(word) for word in words], dtype=np.int64)
        for length in np.unique(lengths):
            same = np.flatnonzero(lengths == length)
            for part in np.split(same, range(BATCH, len(same), BATCH)):
                rows = [[*self.start, *self(words[i]), *self.end] for i in part]
                yield part, np.array(rows, dtype=np.int64).reshape(len(part), -1)


class ByLength:
    """A network that takes rows of token ids of one length, (word, time)."""

    def __init__(self, tokens: Tokens, scores: Callable[[Ints], Any]) -> None:
        self._tokens, self._scores = tokens, scores

    def __call__(self, words: Sequence[Sequence[Symbol]]) -> list[Label]:
        """The label of each word."""
        labels: list[Label] = [None] * len(words)
        for part, rows in self._tokens.by_length(words):
            for i, label in zip(part.tolist(), decide(self._scores(rows)), strict=True):
                labels[i] = label
        return labels


def decide(scores: Any) -> list[Label]:
    """The class of highest score; True for a single score above 0; labels stay as they are."""
    values = np.asarray(scores.detach().cpu() if hasattr(scores, "detach") else scores)
    if values.ndim == 1 and values.dtype.kind != "f":
        return list(values.tolist())
    if values.ndim == 1 or values.shape[-1] == 1:
        return list((values.reshape(-1) > 0).tolist())
    if values.ndim != 2:
        raise SettingError(f"scores must be of shape (batch, class), got {values.shape}")
    return list(values.argmax(-1).tolist())


def device(module: Any) -> Any:
    """The device of a module's weights; the CPU without weights."""
    first = next(iter(module.parameters()), None)
    return "cpu" if first is None else first.device


@contextmanager
def evaluating(*parts: Any) -> Iterator[None]:
    """Put modules into eval mode and restore them."""
    modules = [m for part in parts if hasattr(part, "modules") for m in part.modules()]
    modes = [m.training for m in modules]
    for m in modules:
        m.training = False
    try:
        yield
    finally:
        for m, mode in zip(modules, modes, strict=True):
            m.training = mode
