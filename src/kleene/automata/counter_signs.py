"""What can be told of a one-counter machine from the sign of its counter alone.

The graph over (state, sign) has an edge wherever some counter of that sign allows the move: it
holds everything that can happen, and possibly more.
"""

from __future__ import annotations

from kleene.automata.counter import CounterMachine
from kleene.machine import Label

Place = tuple[int, int]
"""A state and the sign of the counter."""


def signs_after(sign: int, increment: int) -> tuple[int, ...]:
    """The signs that a counter of some sign may have after an increment.

    >>> signs_after(0, -1), signs_after(1, -1), signs_after(1, 1)
    ((-1,), (1, 0), (1,))
    """
    if sign == 0:
        return (increment,)
    return (sign, 0) if sign == -increment else (sign,)


def sign_graph(machine: CounterMachine) -> dict[Place, set[Place]]:
    """The places that may follow each place."""
    return {
        (state, sign): {
            (target, after)
            for target, increment in machine.rows[state][sign + 1]
            for after in signs_after(sign, increment)
        }
        for state in range(machine.num_states)
        for sign in (-1, 0, 1)
    }


def reachable(machine: CounterMachine) -> list[Place]:
    """The places that some word may reach, breadth-first."""
    graph, first = sign_graph(machine), (machine.initial, 0)
    seen = {first: None}
    for place in (todo := [first]):
        for target in sorted(graph[place], key=lambda t: (t[0], abs(t[1]), t[1])):
            if target not in seen:
                seen[target] = None
                todo.append(target)
    return todo


def settled(machine: CounterMachine) -> dict[Place, Label]:
    """The places after which nothing changes the output any more, with that output."""
    graph = sign_graph(machine)
    labels = {(s, sign): {machine.outputs[s][sign + 1]} for s, sign in graph}
    changed = True
    while changed:
        changed = False
        for place, targets in graph.items():
            before = len(labels[place])
            labels[place] = labels[place].union(*(labels[target] for target in targets))
            changed = changed or len(labels[place]) > before
    return {place: next(iter(found)) for place, found in labels.items() if len(found) == 1}
