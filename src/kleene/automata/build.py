"""Automata written as literals, explored from a machine, or combined from two."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from kleene.automata.minimize import minimize
from kleene.automata.symbols import check_same_alphabet, show
from kleene.automata.table import Table, TransitionTable, explore
from kleene.errors import AutomatonError
from kleene.machine import Label, Machine, Symbol


def from_table(
    cls: type[Table],
    table: Mapping[Any, Mapping[Any, Any]],
    *,
    start: Hashable,
    accept: Collection[Hashable] | None = None,
    outputs: Mapping[Any, Label] | None = None,
    alphabet: Sequence[Symbol] | None = None,
    sink: str = "sink",
) -> Table:
    """See `DFA.from_table`. Symbols are in order of appearance unless `alphabet` orders them."""
    if (accept is None) == (outputs is None):
        raise AutomatonError("from_table needs either accept={states} or outputs={state: label}")
    found = dict.fromkeys(symbol for moves in table.values() for symbol in moves)
    symbols = list(found) if alphabet is None else list(alphabet)
    unknown = [symbol for symbol in found if symbol not in symbols]
    if unknown:
        raise AutomatonError(
            f"the table moves on {show(unknown)}, but the alphabet is {{{show(symbols)}}}; "
            "add the symbols or leave the alphabet out"
        )
    states = list(table)
    if any(len(moves) < len(symbols) for moves in table.values()) and sink not in table:
        states.append(sink)
    labels = _labels(states, accept, outputs, added=sink if len(states) > len(table) else None)
    number = {state: index for index, state in enumerate(states)}
    _check_states(table, start, number, accept if outputs is None else outputs)
    return cls(
        alphabet=tuple(symbols),
        transitions=np.array(
            [
                [number[table.get(state, {}).get(symbol, sink)] for symbol in symbols]
                for state in states
            ],
            dtype=np.int32,
        ).reshape(len(states), len(symbols)),
        outputs=tuple(labels),
        initial=number[start],
        names=tuple(str(state) for state in states),
    )


def from_machine(cls: type[Table], machine: Machine[Any], *, max_states: int) -> Table:
    """See `DFA.from_machine`: states are numbered in the order in which they are met."""
    symbols = tuple(machine.alphabet)
    states, rows = explore(
        machine.start(), lambda state: [machine.step(state, s) for s in symbols], max_states
    )
    return cls(
        alphabet=symbols,
        transitions=np.array(rows, dtype=np.int32),
        outputs=tuple(machine.output(state) for state in states),
    )


def product(one: Table, two: TransitionTable, combine: Callable[[Any, Any], Any]) -> Table:
    """Both automata side by side, accepting where `combine` of their two outputs is true."""
    check_same_alphabet(one.alphabet, two.alphabet)
    for dfa in (one, two):
        dfa.require_boolean("combining languages", "recognizer(label) makes a language of a label")
    columns = [two.columns[symbol] for symbol in one.alphabet]
    pairs, rows = explore(
        (one.initial, two.initial),
        lambda pair: [(one.rows[pair[0]][i], two.rows[pair[1]][j]) for i, j in enumerate(columns)],
    )
    whole = type(one)(
        alphabet=one.alphabet,
        transitions=np.array(rows, dtype=np.int32),
        outputs=tuple(bool(combine(one.outputs[p], two.outputs[q])) for p, q in pairs),
    )
    return minimize(whole)


def _labels(
    states: list[Any],
    accept: Collection[Hashable] | None,
    outputs: Mapping[Any, Label] | None,
    added: str | None,
) -> list[Label]:
    if outputs is None:
        return [state in (accept or ()) for state in states]
    given = dict(outputs)
    if added is not None and added not in given and set(given.values()) <= {True, False}:
        given[added] = False
    missing = [state for state in states if state not in given]
    if missing:
        hint = "; the table is partial, so its sink needs a label too" if added in missing else ""
        raise AutomatonError(f"outputs has no label for state {show(missing)}; add it{hint}")
    return [given[state] for state in states]


def _check_states(
    table: Mapping[Any, Mapping[Any, Any]],
    start: Hashable,
    number: Mapping[Any, int],
    marked: Collection[Hashable] | None,
) -> None:
    rows = f"the table has rows for {show(table)}; add a row or correct the name"
    if start not in number:
        raise AutomatonError(f"start is {start!r:.60}, but {rows}")
    for state in marked or ():
        if state not in number:
            raise AutomatonError(f"{state!r:.60} is given an output, but {rows}")
    for state, moves in table.items():
        for symbol, target in moves.items():
            if target not in number:
                raise AutomatonError(
                    f"{state!r:.60} goes to {target!r:.60} on {symbol!r:.60}, but {rows}"
                )
