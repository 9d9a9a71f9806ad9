"""Automata as text that other tools draw: Graphviz DOT and Mermaid."""

from __future__ import annotations

from dataclasses import dataclass

from kleene.automata.dfa import DFA
from kleene.automata.symbol_sets import describe
from kleene.machine import Label

# Okabe and Ito's colours, which readers of any colour vision can tell apart, lightened to fill.
_FILLS = ("#cfe3f2", "#fbe3b8", "#c9e8dd", "#f6d3c0", "#ecd6e5", "#fbf7c4", "#d6e0ea", "#e0e0e0")
_REJECTING, _ACCEPTING = "#ffffff", "#cfe3f2"
_CROWDED = 40  # edges from which a drawing turns to smaller type and thinner lines


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """What a drawing shows: states, and one edge for all symbols with the same two ends."""

    states: list[int]
    edges: dict[tuple[int, int], str]


def diagram(dfa: DFA, *, sink: bool = True) -> Diagram:
    """Merge edges and write their symbols briefly; leave out rejecting sinks unless wanted."""
    hidden = set() if sink else sinks(dfa) - {dfa.initial}
    symbols: dict[tuple[int, int], list[int]] = {}
    for state, row in enumerate(dfa.rows):
        for column, target in enumerate(row):
            if state not in hidden and target not in hidden:
                symbols.setdefault((state, target), []).append(column)
    return Diagram(
        states=[state for state in range(dfa.num_states) if state not in hidden],
        edges={
            ends: describe([dfa.alphabet[column] for column in columns], dfa.alphabet)
            for ends, columns in symbols.items()
        },
    )


def sinks(dfa: DFA) -> set[int]:
    """Rejecting states that nothing leaves."""
    return {
        state
        for state, row in enumerate(dfa.rows)
        if dfa.is_boolean and not dfa.outputs[state] and set(row) == {state}
    }


def to_dot(dfa: DFA, *, sink: bool = True) -> str:
    """See `DFA.to_dot`."""
    shown = diagram(dfa, sink=sink)
    crowded = len(shown.edges) > _CROWDED
    fills = _fills(dfa)
    lines = [
        "digraph dfa {",
        f'  graph [rankdir=LR, nodesep={0.2 if crowded else 0.35}, ranksep={0.6 if crowded else 0.5}'
        ', bgcolor="transparent", fontname="Helvetica"];',
        '  node [shape=circle, style=filled, fontname="Helvetica", fontsize=13, width=0.5,'
        ' margin=0.05, color="#333333"];',
        f'  edge [fontname="Helvetica", fontsize={9 if crowded else 12}, arrowsize=0.7,'
        f' color="#555555", penwidth={0.7 if crowded else 1.0}];',
        '  start [shape=point, style=invis, width=0, height=0, label=""];',
    ]
    for state in shown.states:
        accepting = dfa.is_boolean and dfa.outputs[state]
        text = dfa.name(state) if dfa.is_boolean else f"{dfa.name(state)}\n{dfa.outputs[state]}"
        shape = "doublecircle" if accepting else "circle" if dfa.is_boolean else "ellipse"
        fill = fills[dfa.outputs[state]]
        lines.append(f'  {state} [label={_quoted(text)}, shape={shape}, fillcolor="{fill}"];')
    lines.append(f"  start -> {dfa.initial};")
    for (source, target), text in shown.edges.items():
        lines.append(f"  {source} -> {target} [label={_quoted(f' {text} ')}];")
    return "\n".join([*lines, "}"]) + "\n"


def to_mermaid(dfa: DFA, *, sink: bool = True) -> str:
    """See `DFA.to_mermaid`. Accepting states have a double border, labels stand below names."""
    shown = diagram(dfa, sink=sink)
    lines = ["flowchart LR", "  start(( )):::start"]
    for state in shown.states:
        text = dfa.name(state)
        left, right = ("((", "))")
        if not dfa.is_boolean:
            text, left, right = f"{text}<br/>{_escaped(str(dfa.outputs[state]))}", "([", "])"
        elif dfa.outputs[state]:
            left, right = "(((", ")))"
        body = text if not dfa.is_boolean else _escaped(text)
        lines.append(f'  q{state}{left}"{body}"{right}')
    lines.append(f"  start --> q{dfa.initial}")
    for (source, target), text in shown.edges.items():
        lines.append(f'  q{source} -->|"{_escaped(text)}"| q{target}')
    lines.append("  classDef start fill:none,stroke:none")
    return "\n".join(lines) + "\n"


def _fills(dfa: DFA) -> dict[Label, str]:
    """The colour of each label: white and blue for a language, one each for labels."""
    if dfa.is_boolean:
        return {False: _REJECTING, True: _ACCEPTING}
    labels = dict.fromkeys(dfa.outputs)
    return {label: _FILLS[i % len(_FILLS)] for i, label in enumerate(sorted(labels, key=repr))}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _escaped(text: str) -> str:
    """Mermaid takes HTML entities for what its syntax claims."""
    special = '"#&<>|`{}[]()\\'
    return "".join(f"#{ord(c)};" if c in special else c for c in text)
