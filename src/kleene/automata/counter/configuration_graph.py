"""The finite graph of a one-counter machine: states together with views of the counter.

It has an edge wherever some counter of that view allows the move: it holds everything that can
happen, and possibly more.
"""

from __future__ import annotations

from kleene.automata.counter.machine import CounterMachine
from kleene.machine import Label

Place = tuple[int, int]
"""A state and a view of the counter."""


def views_after(view: int, increment: int, reach: int) -> tuple[int, ...]:
    """The views of a counter that may follow an increment.

    >>> views_after(0, -1, 1), views_after(1, -1, 1), views_after(1, 1, 1)
    ((-1,), (0, 1), (1,))
    """
    moved = max(-reach, min(reach, view + increment))
    return (moved, view) if abs(view) == reach and moved != view else (moved,)


def place_graph(machine: CounterMachine) -> dict[Place, set[Place]]:
    """The places that may follow each place."""
    reach = machine.reach
    return {
        (state, view): {
            (target, after)
            for target, increment in machine.rows[state][view + reach]
            for after in views_after(view, increment, reach)
        }
        for state in range(machine.num_states)
        for view in range(-reach, reach + 1)
    }


def reachable(machine: CounterMachine) -> list[Place]:
    """The places that some word may reach, breadth-first."""
    graph, first = place_graph(machine), (machine.initial, 0)
    seen = {first}
    for place in (todo := [first]):
        for target in sorted(graph[place]):
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return todo


def settled(machine: CounterMachine) -> dict[Place, Label]:
    """The places after which nothing changes the output any more, with that output."""
    graph = place_graph(machine)
    labels = {(s, view): {machine.outputs[s][view + machine.reach]} for s, view in graph}
    changed = True
    while changed:
        changed = False
        for place, targets in graph.items():
            before = len(labels[place])
            labels[place] = labels[place].union(*(labels[target] for target in targets))
            changed = changed or len(labels[place]) > before
    return {place: next(iter(found)) for place, found in labels.items() if len(found) == 1}
