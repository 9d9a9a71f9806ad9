"""Smaller one-counter machines of the same language."""

from __future__ import annotations

from typing import Any

import numpy as np

from kleene.automata.counter.configuration_graph import Place, reachable, settled, views_after
from kleene.automata.counter.machine import CounterMachine
from kleene.machine import Label

Move = tuple[int, int]
"""The next state, and what is added to the counter."""


def reduce(machine: CounterMachine) -> CounterMachine:
    """See `CounterMachine.minimize`."""
    return _short_sighted(_merged(_with_sinks(machine)))


def _with_sinks(machine: CounterMachine) -> CounterMachine:
    """Where the output is settled, the counter rests: one state of its own for each such label."""
    decided, reach = settled(machine), machine.reach
    sinks: dict[Label, int] = {}
    moves = np.stack([machine.transitions, machine.increments], axis=-1).astype(np.int64)
    for state, view in reachable(machine):
        for column, (target, increment) in enumerate(machine.rows[state][view + reach]):
            after = views_after(view, increment, reach)
            labels = {decided[target, v] for v in after if (target, v) in decided}
            if len(labels) == 1 and all((target, v) in decided for v in after):
                sink = sinks.setdefault(labels.pop(), machine.num_states + len(sinks))
                moves[state, view + reach, column] = sink, 0
    rest = np.zeros((len(sinks), *moves.shape[1:]), dtype=np.int64)
    rest[..., 0] = np.array(list(sinks.values())).reshape(-1, 1, 1)
    moves = np.concatenate([moves, rest])
    names = [machine.name(state) for state in range(machine.num_states)]
    return CounterMachine(
        alphabet=machine.alphabet,
        transitions=moves[..., 0],
        increments=moves[..., 1],
        outputs=(*machine.outputs, *((label,) * (2 * reach + 1) for label in sinks)),
        initial=machine.initial,
        names=(*names, *(f"{label} for good" for label in sinks)),
    )


def _merged(machine: CounterMachine) -> CounterMachine:
    """Reachable states only; those that do the same at every view that both can meet are one."""
    places = reachable(machine)
    states = list(dict.fromkeys(state for state, _ in places))
    block = {state: state for state in states}
    for i, state in enumerate(states):
        for earlier in states[:i]:
            if block[state] == state and block[earlier] == earlier:
                block = _joined(machine, places, block, earlier, state) or block
    return _quotient(machine, places, block)


def _joined(
    machine: CounterMachine, places: list[Place], block: dict[int, int], one: int, other: int
) -> dict[int, int] | None:
    """The blocks after two became one, and whatever must follow them; None if they contradict."""
    block = dict(block)
    todo = [(one, other)]
    while todo:
        a, b = (block[state] for state in todo.pop())
        if a == b:
            continue
        block = {state: a if own == b else own for state, own in block.items()}
        for view in range(-machine.reach, machine.reach + 1):
            members = [s for s, v in places if v == view and block[s] == a]
            acts = [_act(machine, s, view) for s in members]
            for label, moves in acts[1:]:
                if label != acts[0][0]:
                    return None
                for (target, up), (first, first_up) in zip(moves, acts[0][1], strict=True):
                    if up != first_up:
                        return None
                    todo.append((first, target))
    return block


def _act(machine: CounterMachine, state: int, view: int) -> tuple[Label, list[Move]]:
    index = view + machine.reach
    return machine.outputs[state][index], machine.rows[state][index]


def _quotient(
    machine: CounterMachine, places: list[Place], block: dict[int, int]
) -> CounterMachine:
    """One state per block; a view that it never meets does what the nearest met one does."""
    order = list(dict.fromkeys(block[state] for state, _ in places))
    views = range(-machine.reach, machine.reach + 1)
    rows: list[Any] = []
    outputs, names = [], []
    for one in order:
        met = {view: state for state, view in places if block[state] == one}
        near = [min(met, key=lambda other, v=view: (abs(other - v), other)) for view in views]  # type: ignore[misc]
        acts = [_act(machine, met[view], view) for view in near]
        outputs.append(tuple(label for label, _ in acts))
        rows.append([[(order.index(block[t]), up) for t, up in moves] for _, moves in acts])
        names.append("+".join(machine.name(state) for state in block if block[state] == one))
    table = np.array(rows)
    return CounterMachine(
        alphabet=machine.alphabet,
        transitions=table[..., 0],
        increments=table[..., 1],
        outputs=tuple(outputs),
        initial=order.index(block[machine.initial]),
        names=tuple(names),
    )


def _short_sighted(machine: CounterMachine) -> CounterMachine:
    """The same machine seeing no further than it needs to."""
    while machine.reach > 1:
        inner = slice(1, -1)
        for table in (machine.transitions, machine.increments, np.array(machine.outputs, object)):
            if not (table[:, 0] == table[:, 1]).all() or not (table[:, -1] == table[:, -2]).all():
                return machine
        machine = CounterMachine(
            alphabet=machine.alphabet,
            transitions=machine.transitions[:, inner],
            increments=machine.increments[:, inner],
            outputs=tuple(row[inner] for row in machine.outputs),
            initial=machine.initial,
            names=machine.names,
        )
    return machine
