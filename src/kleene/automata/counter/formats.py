"""One-counter machines as JSON and as drawings with push and pop on the edges.

The JSON document:

    {"format": "kleene.counter/1",
     "alphabet": ["(", ")"],                 symbols, one per column
     "start": 0,                             the initial state
     "outputs": [[false, true, false]],      by state and clipped counter: below, at, above 0
     "transitions": [[[0, 0], [0, 0], ...]], the next state, by state, clipped counter, symbol
     "increments": [[[1, -1], [1, -1], ...]],  what is added to the counter
     "names": ["good"]}                      optional
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from kleene.automata.counter.configuration_graph import Node, reachable
from kleene.automata.counter.table import CounterTable, CounterTables
from kleene.automata.formats.drawing import dot_node, dot_text, quoted
from kleene.automata.formats.json import (
    array_field,
    document_fields,
    dump,
    integer_field,
    list_field,
    names_field,
    to_plain,
    to_value,
)
from kleene.automata.symbols import describe, printable
from kleene.errors import AutomatonError
from kleene.machine import Label, Symbol

FORMAT = "kleene.counter/1"
MOVES = {1: "push", -1: "pop", 0: ""}


def to_json(machine: CounterTable, *, indent: int | None = None) -> str:
    document = {
        "format": FORMAT,
        "alphabet": [to_plain(symbol) for symbol in machine.alphabet],
        "start": machine.initial,
        "outputs": [[to_plain(label) for label in row] for row in machine.outputs],
        "transitions": machine.transitions.tolist(),
        "increments": machine.increments.tolist(),
    }
    if machine.names is not None:
        document["names"] = list(machine.names)
    return dump(document, indent=indent)


def from_json(cls: type[CounterTables], document: str | Mapping[str, Any]) -> CounterTables:
    keys = ("alphabet", "start", "outputs", "transitions", "increments")
    fields = document_fields(document, FORMAT, keys)
    rows = list_field(fields, "outputs")
    if not all(isinstance(row, list | tuple) for row in rows):
        raise AutomatonError(f"'outputs' must be a list of labels per state, got {rows!r:.60}")
    return cls(
        alphabet=tuple(to_value(symbol) for symbol in list_field(fields, "alphabet")),
        transitions=array_field(fields, "transitions", int, "int64"),
        increments=array_field(fields, "increments", int, "int64"),
        outputs=tuple(tuple(to_value(label) for label in row) for row in rows),
        initial=integer_field(fields, "start"),
        names=names_field(fields),
    )


def edges(machine: CounterTable) -> dict[tuple[int, int], list[str]]:
    """What stands on each edge, such as `( push` or `) when >0 pop`; reachable moves only."""
    met: dict[int, list[int]] = defaultdict(list)
    for state, clipped in sorted(reachable(machine)):
        met[state].append(clipped)
    lines: dict[tuple[int, int], list[str]] = defaultdict(list)
    for state, counters in met.items():
        when: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        for clipped in counters:
            for column, move in enumerate(machine.rows[state][clipped + machine.clip]):
                when[(column, *move)].append(clipped)
        alike: dict[tuple[int, int, tuple[int, ...]], list[Symbol]] = defaultdict(list)
        for (column, target, increment), at in when.items():
            alike[target, increment, tuple(at)].append(machine.alphabet[column])
        for (target, increment, seen), symbols in alike.items():
            text = describe(symbols, machine.alphabet)
            if len(seen) < len(counters):
                text += f" when {describe_counters(seen, machine.clip)}"
            lines[state, target].append(f"{text}  {MOVES[increment]}".rstrip())
    return dict(lines)


def describe_counters(counters: Sequence[int], clip: int) -> str:
    """Views of the counter in words.

    >>> describe_counters([0], 1), describe_counters([1], 1), describe_counters([-1, 0, 1, 2], 2)
    ('=0', '>0', '>-2')
    """
    chosen = sorted(counters)
    runs: list[list[int]] = []
    for clipped in chosen:
        if runs and runs[-1][-1] == clipped - 1:
            runs[-1].append(clipped)
        else:
            runs.append([clipped])
    return " or ".join(_describe_run(run[0], run[-1], clip) for run in runs)


def _describe_run(first: int, last: int, clip: int) -> str:
    if last == clip:
        return f">{first - 1}"
    if first == -clip:
        return f"<{last + 1}"
    return f"={first}" if first == last else f"{first} to {last}"


def to_dot(machine: CounterTable) -> str:
    """Graphviz DOT, with push and pop on the edges; states say at which counters they accept."""
    met = reachable(machine)
    nodes = {}
    for state in dict.fromkeys(state for state, _ in met):
        described, borders = _describe_outputs(machine, state, met)
        text = quoted(f"{printable(machine.name(state))}\n{printable(described)}")
        fill = "#cfe3f2" if borders == 2 else "#ffffff"
        nodes[state] = dot_node(text, borders=borders, fill=fill)
    texts = {ends: quoted("\n".join(lines)) for ends, lines in edges(machine).items()}
    return dot_text(nodes, texts, machine.initial)


def _describe_outputs(machine: CounterTable, state: int, met: list[Node]) -> tuple[str, int]:
    """The outputs of a state in words, and how many borders it has."""
    counters = sorted(clipped for s, clipped in met if s == state)
    by_label: dict[Label, list[int]] = defaultdict(list)
    for clipped in counters:
        by_label[machine.outputs[state][clipped + machine.clip]].append(clipped)
    if not all(isinstance(label, bool) for label in by_label):
        parts = (f"{x} when {describe_counters(v, machine.clip)}" for x, v in by_label.items())
        return ", ".join(parts), 1
    if True not in by_label:
        return "rejects", 1
    if False not in by_label:
        return "accepts", 2
    return f"accepts when {describe_counters(by_label[True], machine.clip)}", 2
