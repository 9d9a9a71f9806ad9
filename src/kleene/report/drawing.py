"""Where the states and arrows of a graph go: laid out by Graphviz, drawn by the page itself.

The page draws from coordinates, so that it can colour, light up and zoom whatever it shows, in
light and in dark, and so that no text of the user passes through anybody's markup.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from kleene.automata import DFA
from kleene.automata.formats.drawing import diagram, load_graphviz
from kleene.evaluation.percent import percent
from kleene.explain.markup import as_text
from kleene.explain.summary import Move, Summary
from kleene.explain.traces import label_text
from kleene.machine import Word

POINTS = 72  # to an inch, Graphviz's measure of nodes
ROUND, LETTER, LINE = 46, 7.4, 17  # pixels: a state's circle, a letter's width, a line's height
MAX_LETTERS, MAX_LINES = 26, 3  # in a line of a label, of an arrow's label


@dataclass(frozen=True, kw_only=True)
class Node:
    """A state as it is drawn: texts above each other, in a circle when they are short."""

    id: int
    lines: tuple[str, ...]
    double: bool = False
    """Whether it has a second border, as accepting states do."""

    @property
    def round(self) -> bool:
        """Whether it is a circle."""
        return len(self.lines) == 1 and len(self.lines[0]) <= 4

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        if self.round:
            return ROUND, ROUND
        widest = max(map(len, self.lines))
        return max(ROUND, LETTER * widest + 26), LINE * len(self.lines) + 18


@dataclass(frozen=True, kw_only=True)
class Arrow:
    """All moves from one state to another."""

    source: int
    target: int
    lines: tuple[str, ...]
    weight: float = 1.0
    """Its thickness, relative to other arrows."""


def draw_dfa(dfa: DFA, names: Sequence[str], words: Sequence[Word] | None = None) -> dict[str, Any]:
    """An automaton, or what some words pass through of it.

    Moves that would crowd the drawing are noted in the states instead.
    """
    shown = diagram(dfa, words=words)
    nodes = []
    for state in shown.states:
        label = () if dfa.is_boolean else (_short(as_text(dfa.outputs[state])),)
        notes = tuple(_short(note, 2 * MAX_LETTERS) for note in shown.notes.get(state, []))
        accepting = dfa.is_boolean and bool(dfa.outputs[state])
        nodes.append(Node(id=state, lines=(names[state], *label, *notes), double=accepting))
    arrows = [
        Arrow(source=source, target=target, lines=_wrapped(as_text(text)))
        for (source, target), text in shown.edges.items()
    ]
    return lay_out(nodes, arrows, start=dfa.initial)


def draw_summary(summary: Summary, start: int | None, *, moves: int = 3) -> dict[str, Any]:
    """The commonest moves between states over a corpus, with the symbols that stand out."""
    used = {i for i, visits in enumerate(summary.visits) if visits >= 0.002} | {start}
    nodes = [
        Node(id=i, lines=(str(i), _short(label_text(label)), f"{percent(visits)} of steps"))
        for i, (label, visits) in enumerate(zip(summary.state_labels, summary.visits, strict=True))
        if i in used
    ]
    arrows = [
        Arrow(
            source=move.source,
            target=move.target,
            lines=tuple(_short(as_text(mover.symbol), 14) for mover in move.symbols[:3]),
            weight=0.6 + 2.4 * move.share,
        )
        for move in _commonest(summary, moves)
        if {move.source, move.target} <= used
    ]
    return lay_out(nodes, arrows, start=start, across=False)


def _commonest(summary: Summary, most: int) -> list[Move]:
    """The commonest moves from each state to another."""
    kept: dict[int, list[Move]] = {}
    for move in summary.moves:  # state by state, the commonest first
        away = kept.setdefault(move.source, [])
        if move.source != move.target and len(away) < most:
            away.append(move)
    return [move for away in kept.values() for move in away]


def lay_out(
    nodes: Sequence[Node], arrows: Sequence[Arrow], *, start: int | None, across: bool = True
) -> dict[str, Any]:
    """Coordinates for everything, in pixels, the origin at the top left."""
    graph = load_graphviz().AGraph(string=_dot(nodes, arrows, start, across))
    found = json.loads(graph.draw(None, format="json0", prog="dot"))
    width, height = (float(part) for part in found["bb"].split(",")[2:])
    places = {place["name"]: place for place in found["objects"]}
    objects = found["objects"]
    drawing: dict[str, Any] = {"width": round(width, 1), "height": round(height, 1)}
    drawing["nodes"] = [
        {
            "id": node.id,
            **dict(zip("xy", _point(places[str(node.id)]["pos"], height), strict=True)),
            "w": node.size[0],
            "h": node.size[1],
            "lines": list(node.lines),
            "round": node.round,
            "double": node.double,
        }
        for node in nodes
    ]
    drawing["edges"] = []
    by_ends = {(arrow.source, arrow.target): arrow for arrow in arrows}
    for edge in found.get("edges", []):
        ends = objects[edge["tail"]]["name"], objects[edge["head"]]["name"]
        path = _path(edge["pos"], height)
        if ends[0] == "start":
            drawing["start"] = path
            continue
        arrow = by_ends[int(ends[0]), int(ends[1])]
        drawing["edges"].append(
            {
                "from": arrow.source,
                "to": arrow.target,
                **path,
                "lines": list(arrow.lines),
                "at": _point(edge["lp"], height) if "lp" in edge else None,
                "weight": round(arrow.weight, 2),
            }
        )
    return drawing


def _dot(nodes: Sequence[Node], arrows: Sequence[Arrow], start: int | None, across: bool) -> str:
    direction = "LR" if across else "TB"
    lines = [
        f"digraph {{ graph [rankdir={direction}, nodesep=0.4, ranksep=0.55];",
        'node [fixedsize=true, label=""]; edge [fontname="Helvetica", fontsize=13];',
    ]
    for node in nodes:
        width, height = (side / POINTS for side in node.size)
        shape = "circle" if node.round else "box"
        lines.append(f"{node.id} [shape={shape}, width={width:.3f}, height={height:.3f}];")
    if start is not None:
        lines.append(f"start [shape=none, width=0.2, height=0]; start -> {start} [minlen=1];")
    for arrow in arrows:
        text = json.dumps("\n".join(f" {line} " for line in arrow.lines), ensure_ascii=False)
        lines.append(f"{arrow.source} -> {arrow.target} [label={text}];")
    return "\n".join([*lines, "}"])


def _point(text: str, height: float) -> list[float]:
    x, y = map(float, text.split(","))
    return [round(x, 1), round(height - y, 1)]


def _path(text: str, height: float) -> dict[str, Any]:
    """Graphviz's `e,x,y p0 p1 p2 ...` as the points of Bézier curves, and the arrow's tip."""
    parts = text.split()
    tip = _point(parts.pop(0)[2:], height) if parts[0].startswith("e,") else None
    points = [_point(part, height) for part in parts]
    return {"points": points, "tip": tip or points[-1]}


def _wrapped(text: str) -> tuple[str, ...]:
    """A text on a few lines; what does not fit ends in an ellipsis."""
    lines = wrap(text, MAX_LETTERS, max_lines=MAX_LINES, placeholder=" …", break_long_words=False)
    return tuple(_short(line) for line in lines) or (text,)


def _short(text: str, most: int = MAX_LETTERS) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
