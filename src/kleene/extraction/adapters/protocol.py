"""What an adapter is: a callable from sequences to labels, or also a look at hidden vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from kleene.arrays import Floats
from kleene.machine import Label, Symbol

Classify = Callable[[Sequence[Sequence[Symbol]]], Any]
"""A batch of sequences -> one label for each, as a list, an array or a tensor."""

BATCH = 512


@runtime_checkable
class WhiteBox(Protocol):
    """A left-to-right network whose hidden vectors can be looked at."""

    def __call__(self, words: Sequence[Sequence[Symbol]]) -> Sequence[Label]:
        """The label of each word."""
        ...

    def hidden(self, words: Sequence[Sequence[Symbol]]) -> Floats:
        """The vectors after the start token and each word, (word, size)."""
        ...

    def step(self, vectors: Floats, symbol: Symbol) -> Floats:
        """The vectors after one more symbol."""
        ...

    def out(self, vectors: Floats) -> Sequence[Label]:
        """The labels of words that end with these vectors."""
        ...
