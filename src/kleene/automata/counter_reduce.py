"""Smaller one-counter machines of the same language."""

from __future__ import annotations

import numpy as np

from kleene.automata.counter import SIGNS, CounterMachine
from kleene.automata.counter_signs import reachable, settled, signs_after
from kleene.machine import Label


def reduce(machine: CounterMachine) -> CounterMachine:
    """See `CounterMachine.minimize`."""
    return _merged(_with_sinks(machine))


def _with_sinks(machine: CounterMachine) -> CounterMachine:
    """Where the output is settled, the counter rests: one state of its own for each such label."""
    decided = settled(machine)
    sinks: dict[Label, int] = {}
    moves = np.stack([machine.transitions, machine.increments], axis=-1).astype(np.int64)
    for state, sign in reachable(machine):
        for column, (target, increment) in enumerate(machine.rows[state][sign + 1]):
            labels = {decided.get((target, s), _Open) for s in signs_after(sign, increment)}
            if len(labels) == 1 and _Open not in labels:
                sink = sinks.setdefault(labels.pop(), machine.num_states + len(sinks))
                moves[state, sign + 1, column] = sink, 0
    shape = (len(SIGNS), len(machine.alphabet))
    rests = np.array([np.stack([np.full(shape, s), np.zeros(shape)], -1) for s in sinks.values()])
    moves = np.concatenate([moves, rests.reshape(-1, *shape, 2).astype(np.int64)])
    names = [machine.name(state) for state in range(machine.num_states)]
    return CounterMachine(
        alphabet=machine.alphabet,
        transitions=moves[..., 0],
        increments=moves[..., 1],
        outputs=(*machine.outputs, *((label, label, label) for label in sinks)),
        initial=machine.initial,
        names=(*names, *(f"always {label}" for label in sinks)),
    )


class _Open:
    """Stands for a place whose output may still change."""


def _merged(machine: CounterMachine) -> CounterMachine:
    """Reachable states only, those with the same outputs and moves as one."""
    places = set(reachable(machine))
    states = list(dict.fromkeys(state for state, _ in reachable(machine)))
    # A sign that a state never meets takes over what the state does at the nearest one it meets.
    near = np.array(
        [
            [
                1 + min((abs(o - sign), o) for o in (-1, 0, 1) if (s, o) in places)[1]
                for sign in (-1, 0, 1)
            ]
            for s in states
        ]
    )
    rows = np.arange(len(states))[:, None]
    place = np.zeros(machine.num_states, dtype=np.int64)
    place[states] = np.arange(len(states))
    targets = place[machine.transitions[states]][rows, near]
    increments = machine.increments[states][rows, near]
    outputs = [tuple(machine.outputs[s][i] for i in near[n]) for n, s in enumerate(states)]
    numbers = {row: i for i, row in enumerate(dict.fromkeys(outputs))}
    block = np.array([numbers[row] for row in outputs])
    while True:
        acts = np.concatenate([block[targets], increments], axis=-1).reshape(len(states), -1)
        acts = np.concatenate([block[:, None], acts], axis=1)
        finer = np.unique(acts, axis=0, return_inverse=True)[1].reshape(-1)
        if finer.max() == block.max():
            break
        block = finer
    order = list(dict.fromkeys(block.tolist()))  # as words reach them
    chosen = np.array([block.tolist().index(b) for b in order])
    renumbered = np.array([order.index(b) for b in block.tolist()])
    members = [[s for s, b in zip(states, block, strict=True) if b == one] for one in order]
    return CounterMachine(
        alphabet=machine.alphabet,
        transitions=renumbered[targets[chosen]],
        increments=increments[chosen],
        outputs=tuple(outputs[i] for i in chosen),  # type: ignore[misc]
        names=tuple("+".join(machine.name(s) for s in group) for group in members),
    )

