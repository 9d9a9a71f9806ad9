"""Smaller one-counter machines of the same language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from kleene.automata.counter.configuration_graph import (
    Node,
    clipped_after,
    constant_outputs,
    reachable,
)
from kleene.automata.counter.table import CounterTable, CounterTables
from kleene.machine import Label

Move = tuple[int, int]
"""The next state, and what is added to the counter."""


def minimize(machine: CounterTables) -> CounterTables:
    """A smaller machine of the same language.

    States that no word reaches are removed; where the output is constant from there on, the counter
    stops; states that agree wherever both can be are merged; and the clip shrinks. Machines that
    count differently can be equal and stay different in size.
    """
    return _smallest_clip(_merged(_with_sinks(machine)))


def _with_sinks(machine: CounterTables) -> CounterTables:
    """Where the output is constant, the counter stops: one sink for each such label."""
    decided, clip = constant_outputs(machine), machine.clip
    sinks: dict[Label, int] = {}
    moves = np.stack([machine.transitions, machine.increments], axis=-1).astype(np.int64)
    for state, clipped in reachable(machine):
        for column, (target, increment) in enumerate(machine.rows[state][clipped + clip]):
            after = clipped_after(clipped, increment, clip)
            labels = {decided[target, v] for v in after if (target, v) in decided}
            if len(labels) == 1 and all((target, v) in decided for v in after):
                sink = sinks.setdefault(labels.pop(), machine.num_states + len(sinks))
                moves[state, clipped + clip, column] = sink, 0
    rest = np.zeros((len(sinks), *moves.shape[1:]), dtype=np.int64)
    rest[..., 0] = np.array(list(sinks.values())).reshape(-1, 1, 1)
    moves = np.concatenate([moves, rest])
    names = [machine.name(state) for state in range(machine.num_states)]
    return replace(
        machine,
        transitions=moves[..., 0],
        increments=moves[..., 1],
        outputs=(*machine.outputs, *((label,) * (2 * clip + 1) for label in sinks)),
        names=(*names, *(f"always {label}" for label in sinks)),
    )


def _merged(machine: CounterTables) -> CounterTables:
    """Drop unreachable states and merge states that agree wherever both can be."""
    nodes = reachable(machine)
    states = list(dict.fromkeys(state for state, _ in nodes))
    block = {state: state for state in states}
    for i, state in enumerate(states):
        for earlier in states[:i]:
            if block[state] == state and block[earlier] == earlier:
                block = _joined(machine, nodes, block, earlier, state) or block
    return _quotient(machine, nodes, block)


def _joined(
    machine: CounterTable,
    nodes: list[Node],
    block: dict[int, int],
    one: int,
    other: int,
) -> dict[int, int] | None:
    """The blocks after merging two and all that follow; None if outputs contradict."""
    block = dict(block)
    todo = [(one, other)]
    while todo:
        a, b = (block[state] for state in todo.pop())
        if a == b:
            continue
        block = {state: a if own == b else own for state, own in block.items()}
        for clipped in range(-machine.clip, machine.clip + 1):
            members = [s for s, v in nodes if v == clipped and block[s] == a]
            acts = [_act(machine, s, clipped) for s in members]
            for label, moves in acts[1:]:
                if label != acts[0][0]:
                    return None
                for (target, up), (first, first_up) in zip(moves, acts[0][1], strict=True):
                    if up != first_up:
                        return None
                    todo.append((first, target))
    return block


def _act(machine: CounterTable, state: int, clipped: int) -> tuple[Label, list[Move]]:
    index = clipped + machine.clip
    return machine.outputs[state][index], machine.rows[state][index]


def _nearest(met: Iterable[int], clipped: int) -> int:
    return min(met, key=lambda other: (abs(other - clipped), other))


def _quotient(machine: CounterTables, nodes: list[Node], block: dict[int, int]) -> CounterTables:
    """One state per block; a clipped counter it never meets copies the nearest one it meets."""
    order = list(dict.fromkeys(block[state] for state, _ in nodes))
    counters = range(-machine.clip, machine.clip + 1)
    rows: list[Any] = []
    outputs, names = [], []
    for one in order:
        met = {clipped: state for state, clipped in nodes if block[state] == one}
        acts = [_act(machine, met[near], near) for near in (_nearest(met, c) for c in counters)]
        outputs.append(tuple(label for label, _ in acts))
        rows.append([[(order.index(block[t]), up) for t, up in moves] for _, moves in acts])
        names.append("+".join(machine.name(state) for state in block if block[state] == one))
    table = np.array(rows)
    return replace(
        machine,
        transitions=table[..., 0],
        increments=table[..., 1],
        outputs=tuple(outputs),
        initial=order.index(block[machine.initial]),
        names=tuple(names),
    )


def _smallest_clip(machine: CounterTables) -> CounterTables:
    """The same machine with the smallest clip."""
    while machine.clip > 1:
        inner = slice(1, -1)
        for table in (machine.transitions, machine.increments, np.array(machine.outputs, object)):
            if not (table[:, 0] == table[:, 1]).all() or not (table[:, -1] == table[:, -2]).all():
                return machine
        machine = replace(
            machine,
            transitions=machine.transitions[:, inner],
            increments=machine.increments[:, inner],
            outputs=tuple(row[inner] for row in machine.outputs),
            names=machine.names,
        )
    return machine
