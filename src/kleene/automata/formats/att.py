"""The AT&T text format of finite-state toolkits, in which MLRegTest gives its languages.

    0 1 a a     from state 0 to state 1 on a (the output column repeats the input)
    1 0 b b
    1           state 1 accepts

The source of the first line is the start; a missing move rejects.
"""

from __future__ import annotations

from collections.abc import Sequence

from kleene.automata.build import from_table
from kleene.automata.table import Table
from kleene.errors import AutomatonError
from kleene.machine import Symbol


def from_att(cls: type[Table], text: str, *, alphabet: Sequence[Symbol] | None = None) -> Table:
    """See `DFA.from_att`. Give the `alphabet` when not all of its symbols have a line."""
    table: dict[str, dict[Symbol, str]] = {}
    accept: set[str] = set()
    start = None
    for number, line in enumerate(text.splitlines(), start=1):
        match line.split():
            case []:
                continue
            case [state] | [state, _] if len(line.split()) == 1 or _is_weight(line.split()[1]):
                accept.add(state)
                table.setdefault(state, {})
            case [source, target, symbol, *_]:
                moves = table.setdefault(source, {})
                if moves.setdefault(symbol, target) != target:
                    raise AutomatonError(
                        f"line {number}: state {source:.60} has two moves on {symbol!r:.60}; "
                        "determinise the automaton first"
                    )
                table.setdefault(target, {})
                start = source if start is None else start
            case _:
                raise AutomatonError(
                    f"line {number} must be 'source target input output' or one accepting state, "
                    f"got {line!r:.60}"
                )
    if start is None:
        if not accept:
            raise AutomatonError("the text has no line 'source target input output'; add one")
        start = next(iter(table))
    return from_table(cls, table, start=start, accept=accept, alphabet=alphabet)


def _is_weight(text: str) -> bool:
    """Whether an accepting state's second column is a weight, which we ignore."""
    try:
        float(text)
    except ValueError:
        return False
    return True
