"""How symbols, weights and tables are shown: on terminals, in web pages, as JSON.

The strength of a symbol is its weight on a scale from -1, strongly against the prediction, to 1.
"""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from kleene.data.words import without_surrogates
from kleene.machine import Symbol

Table: TypeAlias = tuple[Sequence[str], Sequence[Sequence[str]]]
"""A header and rows of texts."""
# Okabe and Ito's vermilion speaks for a prediction, their blue against it.
FOR, AGAINST = (213, 94, 0), (0, 114, 178)
MAX_OPACITY = 0.7  # of a background, so that the text stays legible
STRONG, WEAK = 0.5, 0.05  # strengths from which a symbol is marked strongly, or at all
LEGEND = "marks: # strongly for the label, + for it, - against it, = strongly against it"


class Rendered(ABC):
    """Tables that print as columns, show as HTML and become JSON."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """What is shown."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""

    def __str__(self) -> str:
        return "\n\n".join(columns(*table) for table in self.tables())

    def to_html(self) -> str:
        """A fragment of a web page."""
        return "".join(html_table(*table) for table in self.tables())

    def _repr_html_(self) -> str:
        return self.to_html()


def marked_lines(
    word: Sequence[Symbol],
    strengths: ArrayLike,
    between: str = " ",
    *,
    states: Sequence[int] | None = None,
    width: int = 80,
    colors: bool = False,
) -> list[str]:
    """Lines of a word with its symbols marked, by a background or in a line below.

    With `states`, which begin with the start state, the state after each symbol is below it.
    """
    symbols, weights = [as_text(symbol) for symbol in word], np.asarray(strengths).tolist()
    below = ["" for _ in symbols]
    names = ("", "", "")
    if states is not None:
        symbols, weights, below = ["", *symbols], [0.0, *weights], [str(state) for state in states]
        between, names = " ", ("sequence  ", "          ", "state     ")
    widths = [max(display_width(s), len(b)) for s, b in zip(symbols, below, strict=True)]
    lines = []
    for row in _rows(widths, len(between), width - len(names[0])):
        shown = [
            (_colored(symbols[i], weights[i]) if colors else symbols[i])
            + " " * (widths[i] - display_width(symbols[i]))
            for i in row
        ]
        marks = between.join(_mark(symbols[i], weights[i]).ljust(widths[i]) for i in row)
        lines.append(names[0] + between.join(shown))
        if marks.strip() and not colors:
            lines.append(names[1] + marks)
        if states is not None:
            lines.append(names[2] + between.join(below[i].ljust(widths[i]) for i in row))
    return [line.rstrip() for line in lines]


def _mark(symbol: str, strength: float) -> str:
    """Plain text in place of a colour, as wide as the symbol."""
    if abs(strength) < WEAK:
        return ""
    weak, strong = "+#" if strength > 0 else "-="
    return (strong if abs(strength) >= STRONG else weak) * display_width(symbol)


def _colored(symbol: str, strength: float) -> str:
    """The symbol on a background, for terminals with 24-bit colours."""
    if abs(strength) < WEAK:
        return symbol
    opacity = abs(strength) * MAX_OPACITY
    red, green, blue = (round(255 + (c - 255) * opacity) for c in _color(strength))
    return f"\x1b[30;48;2;{red};{green};{blue}m{symbol}\x1b[0m"


def _rows(widths: Sequence[int], gap: int, width: int) -> Iterator[list[int]]:
    """Break a line before the symbol that does not fit."""
    row: list[int] = []
    used = 0
    for i, own in enumerate(widths):
        if row and used + own > width:
            yield row
            row, used = [], 0
        row.append(i)
        used += own + gap
    yield row


def marked_html(
    word: Sequence[Symbol], weights: ArrayLike, strengths: ArrayLike, between: str = " "
) -> str:
    """A paragraph with coloured symbols; the pointer on a symbol shows its weight."""
    parts = []
    numbers = zip(np.asarray(weights).tolist(), np.asarray(strengths).tolist(), strict=True)
    for symbol, (weight, strength) in zip(word, numbers, strict=True):
        style = f' style="background:{_rgba(strength)}"' if abs(strength) >= WEAK else ""
        parts.append(f'<span title="{weight:+.3f}"{style}>{escape(as_text(symbol))}</span>')
    opening = '<p dir="auto" style="line-height:1.9;overflow-wrap:anywhere;margin:.4em 0">'
    return f"{opening}{between.join(parts)}</p>"


def legend_html(largest: float) -> str:
    """What the colours mean, below a text whose largest weight is `largest`."""
    keys = "".join(
        f'<span style="background:{_rgba(strength)}">&nbsp;{text}&nbsp;</span> '
        for strength, text in ((1.0, "for the prediction"), (-1.0, "against it"))
    )
    return f'<small style="opacity:.75">{keys} strongest weight {largest:.2f}</small>'


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An HTML table of plain texts."""
    head = "".join(f"<th>{escape(text)}</th>" for text in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as plain text; the last column is as wide as its texts."""
    lines = [list(header), *map(list, rows)]
    widths = [max(display_width(line[i]) for line in lines) for i in range(len(header) - 1)]
    shown = []
    for *cells, last in lines:
        padded = [c + " " * (w - display_width(c)) for c, w in zip(cells, widths, strict=True)]
        shown.append("  ".join([*padded, last]).rstrip())
    return "\n".join(shown)


def as_text(symbol: Symbol) -> str:
    """A symbol as it can be shown anywhere: nothing that steers a terminal or breaks XML."""
    text = symbol if isinstance(symbol, str) else str(symbol)
    if text.isascii() and text.isprintable():
        return text
    shown = (c if c.isprintable() or c in "\u200c\u200d" else "\ufffd" for c in text)
    return "".join(shown)


def as_json(value: Any) -> Any:
    """A symbol, a label, or a container of them, as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list):
        return [as_json(part) for part in value]
    if isinstance(value, dict):
        return {str(key): as_json(part) for key, part in value.items()}
    value = without_surrogates(value)  # which no UTF-8 answer can hold
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def joint(word: object) -> str:
    """What stands between the symbols of a word: nothing in a string, else a space."""
    return "" if isinstance(word, str) else " "


def display_width(text: str) -> int:
    """How many columns of a monospaced font a text takes; wide characters take two."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def _color(strength: float) -> tuple[int, int, int]:
    return FOR if strength >= 0 else AGAINST


def _rgba(strength: float) -> str:
    red, green, blue = _color(strength)
    return f"rgba({red},{green},{blue},{abs(strength) * MAX_OPACITY:.2f})"
