"""One labelled sequence, as files hold it."""

from __future__ import annotations

from dataclasses import dataclass

from kleene.machine import Label, Word


@dataclass(frozen=True)
class Example:
    """A sequence, its label if it has one, the line it begins on, and its case, if it has one."""

    word: Word
    label: Label | None
    line: int
    case: str | None = None
