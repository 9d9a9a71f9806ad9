"""The finite graph of a one-counter machine: each state with each clipped counter.

It has an edge wherever some counter with that clipped value allows the move, so it holds
everything that can happen, and possibly more.
"""

from __future__ import annotations

from kleene.automata.counter.table import CounterTable
from kleene.automata.table import explore
from kleene.machine import Label

Node = tuple[int, int]
"""A node of the graph: a state and a clipped counter."""


def clipped_after(clipped: int, increment: int, clip: int) -> tuple[int, ...]:
    """The clipped counters that may follow an increment.

    >>> clipped_after(0, -1, 1), clipped_after(1, -1, 1), clipped_after(1, 1, 1)
    ((-1,), (0, 1), (1,))
    """
    moved = max(-clip, min(clip, clipped + increment))
    return (moved, clipped) if abs(clipped) == clip and moved != clipped else (moved,)


def configuration_graph(machine: CounterTable) -> dict[Node, set[Node]]:
    """The nodes that may follow each node."""
    clip = machine.clip
    return {
        (state, clipped): {
            (target, after)
            for target, increment in machine.rows[state][clipped + clip]
            for after in clipped_after(clipped, increment, clip)
        }
        for state in range(machine.num_states)
        for clipped in range(-clip, clip + 1)
    }


def reachable(machine: CounterTable) -> list[Node]:
    graph = configuration_graph(machine)
    return explore((machine.initial, 0), lambda node: sorted(graph[node]))[0]


def constant_outputs(machine: CounterTable) -> dict[Node, Label]:
    """The nodes from which every word has the same output, with that output."""
    graph = configuration_graph(machine)
    labels = {(s, clipped): {machine.outputs[s][clipped + machine.clip]} for s, clipped in graph}
    changed = True
    while changed:
        changed = False
        for node, targets in graph.items():
            before = len(labels[node])
            labels[node] = labels[node].union(*(labels[target] for target in targets))
            changed = changed or len(labels[node]) > before
    return {node: next(iter(found)) for node, found in labels.items() if len(found) == 1}
