"""An automaton as an SQL expression, which runs where the rows are, without Python.

A fold over the sequence looks up each next state in the transition table, which stands in the text.
A sequence with an unknown symbol has the answer NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kleene.errors import AutomatonError, SettingError

MAX_TRANSITIONS = 100_000
TEMPLATES = {
    "duckdb": (
        "([{outputs}])[1 + list_reduce(list_transform({sequence}, lambda s: "
        "list_position([{alphabet}], s)), lambda state, symbol: "
        "([{transitions}]::BIGINT[])[state * {width} + symbol], {start}::BIGINT)]"
    ),
    "spark": (
        "element_at(array({outputs}), cast(1 + aggregate(transform({sequence}, s -> "
        "nullif(array_position(array({alphabet}), s), 0L)), {start}L, (state, symbol) -> "
        "cast(element_at(array({transitions}), cast(state * {width} + symbol AS INT)) AS BIGINT))"
        " AS INT))"
    ),
}
SPLITS = {
    "duckdb": "list_filter(string_split({column}, {mark}), lambda s: s <> '')",
    "spark": "filter(split({column}, concat('\\\\Q', {mark}, '\\\\E')), s -> s <> '')",
}


def to_sql(
    dfa: Any, column: str = "sequence", *, dialect: str = "duckdb", split: str | None = None
) -> str:
    """The label of the sequence in a column, as an expression for SELECT.

    The column holds lists of symbols. With `split`, it holds texts that are split at that mark, or
    into characters where the mark is empty. `dialect` is "duckdb" or "spark".
    """
    if dialect not in TEMPLATES:
        raise SettingError(f"dialect must be one of {', '.join(TEMPLATES)}, got {dialect!r:.40}")
    states, width = dfa.transitions.shape
    if states * width > MAX_TRANSITIONS:
        found = f"{states * width:,}"
        raise AutomatonError(f"SQL holds up to {MAX_TRANSITIONS:,} transitions, got {found}")
    quote = _quote_spark if dialect == "spark" else _quote
    name = column if column.isidentifier() else _name(column, dialect)
    sequence = name if split is None else SPLITS[dialect].format(column=name, mark=quote(split))
    return TEMPLATES[dialect].format(
        outputs=_literals(dfa.outputs, quote, "outputs"),
        alphabet=_literals(dfa.alphabet, quote, "symbols"),
        transitions=", ".join(map(str, dfa.transitions.ravel().tolist())),
        sequence=sequence,
        width=width,
        start=dfa.initial,
    )


def _name(column: str, dialect: str) -> str:
    mark = "`" if dialect == "spark" else '"'
    return mark + column.replace(mark, mark * 2) + mark


def _literals(values: Iterable[Any], quote: Callable[[str], str], what: str) -> str:
    listed = list(values)
    kinds = {type(value) for value in listed}
    if len(kinds) > 1 or not kinds <= {str, int, bool}:
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise AutomatonError(
            f"{what} must be all strings, all integers or all booleans, got {found}"
        )
    return ", ".join(quote(value) if kinds == {str} else str(value) for value in listed)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quote_spark(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
