"""A sequence with marks as plain text: which symbols count, and the states they lead through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kleene.explain.markup import ansi_background, as_text, display_width, strengths
from kleene.machine import Symbol

STRONG, WEAK = 0.5, 0.05  # of the strongest weight
LEGEND = "marks: # strongly for the label, + for it, - against it, = strongly against it"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One symbol as it is shown, and what stands below it."""

    symbol: str
    strength: float = 0.0
    state: str = ""

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return max(display_width(self.symbol), len(self.state))

    @property
    def mark(self) -> str:
        """Plain text in place of a colour, as wide as the symbol."""
        if abs(self.strength) < WEAK:
            return ""
        weak, strong = "+#" if self.strength > 0 else "-="
        return (strong if abs(self.strength) >= STRONG else weak) * display_width(self.symbol)


def marked_text(
    word: Sequence[Symbol], weights: ArrayLike, between: str, *, width: int, colors: bool
) -> list[str]:
    """Lines of a sequence with its symbols marked, by a background or in a line below."""
    cells = [
        Cell(symbol=as_text(symbol), strength=float(strength))
        for symbol, strength in zip(word, strengths(weights), strict=True)
    ]
    lines = []
    for row in _rows(cells, len(between), width):
        lines.append(between.join(_shown(cell, colors) for cell in row).rstrip())
        if not colors:
            marks = between.join(_padded(cell.mark, cell.width) for cell in row).rstrip()
            lines += [marks] if marks else []
    return lines


def marked_path(
    word: Sequence[Symbol],
    weights: ArrayLike,
    states: Sequence[int],
    *,
    width: int,
    colors: bool,
) -> list[str]:
    """The same with the state after every symbol below it; the first is the start state."""
    start, *after = states
    cells = [Cell(symbol="", state=str(start))] + [
        Cell(symbol=as_text(symbol), strength=float(strength), state=str(state))
        for symbol, strength, state in zip(word, strengths(weights), after, strict=True)
    ]
    names = ("sequence  ", "          ", "state     ")
    lines = []
    for row in _rows(cells, 1, width - len(names[0])):
        symbols = " ".join(
            _shown(cell, colors) + " " * (cell.width - display_width(cell.symbol)) for cell in row
        )
        marks = " ".join(_padded(cell.mark, cell.width) for cell in row)
        below = " ".join(_padded(cell.state, cell.width) for cell in row)
        lines.append(names[0] + symbols)
        if marks.strip() and not colors:
            lines.append(names[1] + marks)
        lines.append(names[2] + below)
    return [line.rstrip() for line in lines]


def deciding_step(states: Sequence[int], labels: Sequence[object], prediction: object) -> int:
    """The number of the symbol after which all states stand for the prediction, 0 for the start.

    A state without a label stands for nothing, so that no step decides: -1.
    """
    agree = np.array([labels[state] == prediction for state in states])
    if not agree[-1]:
        return -1
    others = np.flatnonzero(~agree)
    return int(others[-1]) + 1 if len(others) else 0


def _shown(cell: Cell, colors: bool) -> str:
    if not colors or abs(cell.strength) < WEAK:
        return cell.symbol
    return ansi_background(cell.symbol, cell.strength)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - len(text))


def _rows(cells: Sequence[Cell], gap: int, width: int) -> Iterator[list[Cell]]:
    """Break a line before the cell that does not fit."""
    row: list[Cell] = []
    used = 0
    for cell in cells:
        if row and used + cell.width > width:
            yield row
            row, used = [], 0
        row.append(cell)
        used += cell.width + gap
    yield row
