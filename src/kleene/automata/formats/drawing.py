"""Drawings through Graphviz."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kleene.automata.formats.dot import to_dot
from kleene.automata.formats.graphviz import load_graphviz
from kleene.automata.table import TransitionTable
from kleene.errors import SettingError
from kleene.files import write_atomically
from kleene.machine import Word

FORMATS = ("svg", "png", "pdf")


def draw(
    dfa: TransitionTable,
    path: str | Path,
    *,
    sink: bool = True,
    words: Iterable[Word] | None = None,
) -> Path:
    """See `DFA.draw`."""
    ending = Path(path).suffix.lstrip(".").lower()
    return write_atomically(path, render(dfa, ending, sink=sink, words=words))


def render(
    dfa: TransitionTable, format: str, *, sink: bool = True, words: Iterable[Word] | None = None
) -> bytes:
    """The drawing as the bytes of an SVG, PNG or PDF file."""
    if format not in FORMATS:
        raise SettingError(f"cannot draw as {format!r}; choose one of {', '.join(FORMATS)}")
    graph = load_graphviz().AGraph(string=to_dot(dfa, sink=sink, words=words))
    if format == "png":
        graph.graph_attr["dpi"] = "144"
        graph.graph_attr["bgcolor"] = "white"
    drawing: bytes = graph.draw(None, format=format, prog="dot")
    return drawing
