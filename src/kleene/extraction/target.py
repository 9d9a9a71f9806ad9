"""What the checks and the active learner need to know of a network, whoever trained it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kleene.data.alphabet import Alphabet
from kleene.machine import Label, Word

MOST_SYMBOLS = 256
"""The largest alphabet for active learning, which asks about each symbol in every state."""


class Target(Protocol):
    """A network that gives words a class: a `Model`, or one from elsewhere behind an adapter."""

    @property
    def alphabet(self) -> Alphabet:
        """The symbols that it reads."""
        ...

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels that it gives."""
        ...

    @property
    def longest(self) -> int:
        """The length of the longest training word; 0 where it is not known."""
        ...

    @property
    def reads_symbols(self) -> bool:
        """Whether its input are symbols, not vectors."""
        ...

    def words(self, texts: Sequence[Any]) -> list[Word]:
        """Texts or sequences as words of its symbols."""
        ...
