"""Drawings of automata: Graphviz DOT, its pictures, and Mermaid."""

from __future__ import annotations

import html
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kleene.automata.symbols import describe, printable
from kleene.automata.table import TransitionTable, moves_taken
from kleene.errors import SettingError, extra
from kleene.files import write_atomically
from kleene.machine import Label, Symbol, Word

# Okabe and Ito's colours, which readers of any colour vision can tell apart, lightened to fill.
_FILLS = ("#cfe3f2", "#fbe3b8", "#c9e8dd", "#f6d3c0", "#ecd6e5", "#fbf7c4", "#d6e0ea", "#e0e0e0")
_REJECTING, _ACCEPTING = "#ffffff", "#cfe3f2"
_LINES = 8  # of notes in a state before they go two or more to a line
PICTURES = ("svg", "png", "pdf")
NOISE = b"Fontconfig warning"
_CROWDED = 80  # edges past which only a spanning tree is drawn, the rest written into the states


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """What a drawing shows: states, one edge for all symbols with the same two ends, and notes.

    A crowd of edges is a thicket, and Graphviz would take minutes over it. Then the edges by which
    each state is first reached are drawn, and the other moves are noted inside the states.
    """

    states: list[int]
    edges: dict[tuple[int, int], str]
    notes: dict[int, list[str]]  # lines such as "a-f → 12"


def diagram(
    dfa: TransitionTable, *, sink: bool = True, words: Iterable[Word] | None = None
) -> Diagram:
    """Merge edges and write their symbols briefly; leave out rejecting sinks unless wanted.

    Where `words` are given, only the states and moves that these pass through are shown.
    """
    hidden = set() if sink else sinks(dfa) - {dfa.initial}
    taken = moves_taken(dfa, words)
    if words is not None:
        hidden |= set(range(dfa.num_states)) - {dfa.initial, *dfa.transitions[taken].tolist()}
    moves: dict[tuple[int, int], list[Symbol]] = {}
    for state, column in np.argwhere(taken).tolist():
        target = dfa.rows[state][column]
        if state not in hidden and target not in hidden:
            moves.setdefault((state, target), []).append(dfa.alphabet[column])
    drawn = set(moves) if len(moves) <= _CROWDED else _spanning_tree(dfa) & set(moves)
    noted: dict[int, dict[int, list[Symbol]]] = {}
    for (source, target), symbols in moves.items():
        if (source, target) not in drawn:
            noted.setdefault(source, {})[target] = symbols
    return Diagram(
        states=[state for state in range(dfa.num_states) if state not in hidden],
        edges={ends: describe(moves[ends], dfa.alphabet) for ends in moves if ends in drawn},
        notes={source: _notes(dfa, targets) for source, targets in noted.items()},
    )


def sinks(dfa: TransitionTable) -> set[int]:
    """Rejecting states that nothing leaves."""
    return {
        state
        for state, row in enumerate(dfa.rows)
        if dfa.is_boolean and not dfa.outputs[state] and set(row) == {state}
    }


def to_dot(dfa: TransitionTable, *, sink: bool = True, words: Iterable[Word] | None = None) -> str:
    """Graphviz DOT; `sink=False` leaves out rejecting states that nothing leaves.

    With `words`, only the states and moves that these pass through are drawn.
    """
    shown = diagram(dfa, sink=sink, words=words)
    fills = _fills(dfa)
    round_states = dfa.is_boolean and not shown.notes
    nodes = {
        state: dot_node(
            _node_label(dfa, state, shown.notes.get(state, [])),
            borders=2 if dfa.is_boolean and dfa.outputs[state] else 1,
            fill=fills[dfa.outputs[state]],
        )
        for state in shown.states
    }
    edges = {ends: quoted(f" {text} ") for ends, text in shown.edges.items()}
    return dot_text(nodes, edges, dfa.initial, round_states=round_states)


def dot_node(label: str, *, borders: int, fill: str) -> str:
    """The attributes of a state in Graphviz's words."""
    return f'label={label}, peripheries={borders}, fillcolor="{fill}"'


def dot_text(
    nodes: dict[int, str],
    edges: dict[tuple[int, int], str],
    initial: int,
    *,
    round_states: bool = False,
) -> str:
    """The document: left to right, with an arrow into the initial state."""
    shape = "circle, width=0.5" if round_states else "box"
    style = "filled" if round_states else "filled,rounded"
    lines = [
        "digraph automaton {",
        '  graph [rankdir=LR, nodesep=0.3, ranksep=0.5, bgcolor="transparent"];',
        f'  node [shape={shape}, style="{style}", fontname="Helvetica", fontsize=13, margin=0.06,'
        ' color="#333333"];',
        '  edge [fontname="Helvetica", fontsize=12, arrowsize=0.7, color="#555555"];',
        '  start [shape=none, width=0, height=0, label=""];',
    ]
    lines += [f"  {state} [{node}];" for state, node in nodes.items()]
    lines.append(f"  start -> {initial};")
    lines += [f"  {one} -> {two} [label={text}];" for (one, two), text in edges.items()]
    return "\n".join([*lines, "}"]) + "\n"


def draw(document: str, path: str | Path) -> Path:
    """Draw a DOT document to a file; its ending (.svg, .png, .pdf) says the format."""
    return write_atomically(path, render(document, Path(path).suffix.lstrip(".").lower()))


def render(document: str, format: str) -> bytes:
    """The drawing of a DOT document as the bytes of an SVG, PNG or PDF file."""
    if format not in PICTURES:
        raise SettingError(f"cannot draw as {format!r}; choose one of {', '.join(PICTURES)}")
    graph = load_graphviz().AGraph(string=document)
    if format == "png":
        graph.graph_attr["dpi"] = "144"
        graph.graph_attr["bgcolor"] = "white"
    drawing: bytes = graph.draw(None, format=format, prog="dot")
    return drawing


def to_mermaid(
    dfa: TransitionTable, *, sink: bool = True, words: Iterable[Word] | None = None
) -> str:
    """A Mermaid state diagram, which Markdown viewers draw; options as of `to_dot`.

    Accepting states have a double border; labels stand below names.
    """
    shown = diagram(dfa, sink=sink, words=words)
    lines = ["flowchart LR", '  start[" "]:::start']
    for state in shown.states:
        body = "<br/>".join(map(_escaped, _texts(dfa, state) + shown.notes.get(state, [])))
        opened, closed = ("(((", ")))") if dfa.is_boolean and dfa.outputs[state] else ("((", "))")
        if shown.notes or not dfa.is_boolean:
            opened, closed = ("[[", "]]") if opened == "(((" else ("(", ")")
        lines.append(f'  q{state}{opened}"{body}"{closed}')
    lines.append(f"  start --> q{dfa.initial}")
    for (source, target), text in shown.edges.items():
        lines.append(f'  q{source} -->|"{_escaped(text)}"| q{target}')
    return "\n".join([*lines, "  classDef start fill:none,stroke:none"]) + "\n"


def _spanning_tree(dfa: TransitionTable) -> set[tuple[int, int]]:
    """The edges by which a breadth-first search from the start meets each state."""
    tree: set[tuple[int, int]] = set()
    seen = {dfa.initial}
    for state in (queue := [dfa.initial]):
        for target in dfa.rows[state]:
            if target not in seen:
                seen.add(target)
                queue.append(target)
                tree.add((state, target))
    return tree


def _notes(dfa: TransitionTable, targets: dict[int, list[Symbol]]) -> list[str]:
    """Moves as lines of text, the commonest last: it is the `else` if it is more than half."""
    ordered = sorted(targets, key=lambda target: (len(targets[target]), target))
    lines = [f"{describe(targets[t], dfa.alphabet)} → {printable(dfa.name(t))}" for t in ordered]
    half = len(dfa.alphabet) / 2
    if half < len(targets[ordered[-1]]) < len(dfa.alphabet):
        lines[-1] = f"else → {printable(dfa.name(ordered[-1]))}"
    return lines


def _texts(dfa: TransitionTable, state: int) -> list[str]:
    """What stands in a state: its name, and its output where the shape does not show it."""
    outputs = [] if dfa.is_boolean else [str(dfa.outputs[state])]
    return [printable(text) for text in (dfa.name(state), *outputs)]


def _node_label(dfa: TransitionTable, state: int, notes: list[str]) -> str:
    """The name, in bold when notes follow, and the output where it is not shown by the shape."""
    lines = _texts(dfa, state)
    if not notes:
        return quoted("\n".join(lines))
    title = "<br/>".join(f"<b>{html.escape(line)}</b>" for line in lines)
    across = -(-len(notes) // _LINES)
    rows = ["    ".join(notes[i : i + across]) for i in range(0, len(notes), across)]
    small = "".join(f'<br align="left"/>{html.escape(row)}' for row in rows)
    return f'<{title}<font point-size="10">{small}<br align="left"/></font>>'


def _fills(dfa: TransitionTable) -> dict[Label, str]:
    """The colour of each label: white and blue for a language, one each for labels."""
    if dfa.is_boolean:
        return {False: _REJECTING, True: _ACCEPTING}
    labels = dict.fromkeys(dfa.outputs)
    return {label: _FILLS[i % len(_FILLS)] for i, label in enumerate(sorted(labels, key=repr))}


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _escaped(text: str) -> str:
    """Mermaid takes HTML entities for what its syntax claims."""
    special = '"#&<>|`{}[]()\\'
    return "".join(f"#{ord(c)};" if c in special else c for c in text)


# -- Graphviz, without the warnings of its font library -------------------------------------------


@cache
def load_graphviz() -> Any:
    """Return the module pygraphviz; the first call draws a small graph, which loads the fonts.

    The wheels of pygraphviz carry a fontconfig of their own. Where the system's configuration is
    newer, it writes `Fontconfig warning: ...` into progress bars and answers.
    """
    with extra("draw"):
        import pygraphviz

    with _without(NOISE):
        pygraphviz.AGraph(string="digraph { a }").draw(None, format="svg", prog="dot")
    return pygraphviz


@contextmanager
def _without(noise: bytes) -> Iterator[None]:
    """Hold back standard error, then write its lines, except lines that begin with the noise."""
    try:
        before = os.dup(2)
    except OSError:  # closed, so that nothing can be written to it
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
            held.seek(0)
            kept = b"".join(line for line in held if not line.startswith(noise))
            if kept:
                os.write(2, kept)
