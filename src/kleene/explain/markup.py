"""Words with a background as strong as their weight: for terminals, web pages and pictures."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kleene.machine import Symbol

# Okabe and Ito's vermilion speaks for a prediction, their blue against it.
FOR, AGAINST = (213, 94, 0), (0, 114, 178)
STRONGEST = 0.7  # of a background, so that the text stays legible
_CHAR, _LINE, _PAD, _MARGIN = 8.4, 27, 3, 12  # pixels, for a monospaced font of 14


def as_text(symbol: Symbol) -> str:
    """A symbol as it can be shown anywhere: nothing that steers a terminal or breaks XML."""
    text = symbol if isinstance(symbol, str) else str(symbol)
    if text.isascii() and text.isprintable():
        return text
    shown = (c if c.isprintable() or c in "\u200c\u200d" else "\ufffd" for c in text)
    return "".join(shown)


def as_json(value: Any) -> Any:
    """A symbol or label as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return [as_json(part) for part in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def joint(word: object) -> str:
    """What stands between the symbols of a word: nothing in a string, else a space."""
    return "" if isinstance(word, str) else " "


def strengths(weights: ArrayLike) -> NDArray[np.float64]:
    """Weights divided by the greatest of them in size, so that they lie from -1 to 1."""
    values = np.nan_to_num(np.asarray(weights, dtype=np.float64))
    most = float(np.abs(values).max(initial=0))
    return values / most if most > 0 else values


def ansi_background(text: str, strength: float) -> str:
    """For terminals with 24-bit colours: a background towards white, and black letters."""
    mixed = _mixed(strength)
    red, green, blue = (round(255 + (c - 255) * abs(strength) * STRONGEST) for c in mixed)
    return f"\x1b[30;48;2;{red};{green};{blue}m{text}\x1b[0m"


def highlight_html(symbols: Sequence[Symbol], weights: ArrayLike, between: str = " ") -> str:
    """A paragraph; the number behind a word shows when the pointer rests on it."""
    values = np.asarray(weights, dtype=np.float64)
    parts = []
    for symbol, weight, strength in zip(symbols, values, strengths(values), strict=True):
        color = _rgba(strength)
        style = f' style="background:{color}"' if abs(strength) >= 0.02 else ""
        parts.append(f'<span title="{weight:+.3f}"{style}>{escape(as_text(symbol))}</span>')
    text = between.join(parts)
    return (
        '<p dir="auto" style="line-height:1.9;overflow-wrap:anywhere;margin:.4em 0">'
        + text
        + "</p>"
    )


def legend_html(most: float) -> str:
    """What the colours mean, below a text whose strongest weight is `most`."""
    keys = "".join(
        f'<span style="background:{_rgba(strength)}">&nbsp;{text}&nbsp;</span> '
        for strength, text in ((1.0, "for the prediction"), (-1.0, "against it"))
    )
    return f'<small style="opacity:.75">{keys} strongest weight {most:.2f}</small>'


def highlight_svg(
    symbols: Sequence[Symbol],
    weights: ArrayLike,
    between: str = " ",
    *,
    title: str = "",
    width: int = 760,
) -> str:
    """A picture of its own, lines broken to fit the width."""
    gap = _CHAR * len(between)
    x, y, body = float(_MARGIN), _MARGIN + _LINE * (2 if title else 1), []
    values = strengths(weights)
    for symbol, strength in zip(symbols, values, strict=True):
        text = as_text(symbol)
        size = _CHAR * display_width(text)
        if x + size > width - _MARGIN and x > _MARGIN:
            x, y = float(_MARGIN), y + _LINE
        box = f'x="{x - _PAD / 2:.1f}" y="{y - 17}" width="{size + _PAD:.1f}" height="23" rx="3"'
        if abs(strength) >= 0.02:
            body.append(f'<rect {box} fill="rgb{_mixed(strength)}" {_opacity(strength)}/>')
        fit = f'textLength="{size:.1f}" lengthAdjust="spacingAndGlyphs"'
        if text.strip():
            body.append(f'<text x="{x:.1f}" y="{y}" {fit}>{escape(text)}</text>')
        x += size + gap
    head = f'<text x="{_MARGIN}" y="{_MARGIN + 14}" class="t">{escape(as_text(title))}</text>'
    height = y + _MARGIN + 6
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">'
        "<style>text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#222}"
        ".t{font-weight:bold}</style>"
        f'<rect width="100%" height="100%" fill="white"/>'
        f"{head if title else ''}{''.join(body)}</svg>"
    )


def page(title: str, fragments: Sequence[str]) -> str:
    """A whole web page, which needs nothing from the network, around some fragments."""
    body = "\n".join(f"<section>{fragment}</section>" for fragment in fragments)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(as_text(title))}</title>"
        "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;"
        "padding:0 1rem;color:#1a1a1a;background:#fff}"
        "section{border-top:1px solid #ddd;padding:.6rem 0}h1{font-size:1.4rem}"
        "table{border-collapse:collapse}td,th{padding:.15rem .6rem .15rem 0;text-align:left;"
        "vertical-align:top}</style></head>"
        f"<body><h1>{escape(as_text(title))}</h1>\n{body}\n</body></html>\n"
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An HTML table of plain texts."""
    head = "".join(f"<th>{escape(text)}</th>" for text in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same as plain text in columns, the last of which is as long as it likes."""
    lines = [list(header), *map(list, rows)]
    widths = [max(display_width(line[i]) for line in lines) for i in range(len(header) - 1)]
    return "\n".join(
        "  ".join(
            [
                *(
                    cell + " " * (w - display_width(cell))
                    for cell, w in zip(line, widths, strict=False)
                ),
                line[-1],
            ]
        ).rstrip()
        for line in lines
    )


def _mixed(strength: float) -> tuple[int, int, int]:
    return FOR if strength >= 0 else AGAINST


def _rgba(strength: float) -> str:
    red, green, blue = _mixed(strength)
    return f"rgba({red},{green},{blue},{abs(strength) * STRONGEST:.2f})"


def _opacity(strength: float) -> str:
    return f'fill-opacity="{abs(strength) * STRONGEST:.2f}"'


def display_width(text: str) -> int:
    """How many columns of a monospaced font a text takes; wide characters take two."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)
