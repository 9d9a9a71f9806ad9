"""One labelled sequence, as files hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kleene.machine import Label, Word


@dataclass(frozen=True)
class Example:
    """A sequence, its label if it has one, and the line it begins on."""

    word: Word
    label: Label | None
    line: int
    case: str | None = None
    """The case that the events belong to, where there are cases."""
    row: Mapping[str, Any] | None = None
    """All columns of its row by name, as they stand in the file; None where it has several rows."""
