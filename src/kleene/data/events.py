"""Sequences from tables of events: the rows of one case are one sequence.

DuckDB groups and sorts the rows, on disk where they do not fit into memory. It reads CSV files of
one line a record itself, other rows come from our own readers, whose errors name the line. It may
open nothing but the one file and a temporary folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kleene.data.layout import LABEL_NAMES, Example, Layout
from kleene.data.lines import MAX_LINE, Lines
from kleene.data.tables import Table, table_label
from kleene.data.words import arrow_values, is_missing
from kleene.errors import DataError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CASE_NAMES = ("case", "case_id", "case:concept:name", "session", "session_id", "trace", "trace_id")
EVENT_NAMES = ("event", "activity", "concept:name", "action", "symbol")
MEMORY = "512MB"
_ROWS, _BYTES = 10_000, 2**20
_SPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
_MARKS = {c.encode() for c in _SPACE if c.isascii() and c not in " \r\n"}
_ROLES = ("case", "event", "position", "label")
_TABLE = """
    CREATE TABLE events (line BIGINT, "case" VARCHAR, event VARCHAR, position VARCHAR,
    label VARCHAR, number DOUBLE, moment TIMESTAMPTZ)
"""
_INSERT = """
    INSERT INTO events SELECT line, "case", event, position, nullif(label, ''), number,
    CASE WHEN number IS NULL THEN try_cast(position AS TIMESTAMPTZ) END
    FROM (SELECT *, nullif(try_cast(position AS DOUBLE), 'nan'::DOUBLE) AS number FROM ({}))
"""
_CASES = """
    CREATE TABLE cases AS SELECT "case", min(line) AS start, arg_min(coalesce(label, ''), line)
    AS label FROM events GROUP BY "case"
"""
_SORTED = """
    SELECT event, "case", cases.label, start FROM events JOIN cases USING ("case")
    ORDER BY start, number, moment, line
"""


class _Columns(NamedTuple):
    """The places of the columns, in the order of `_ROLES`; the last two may be missing."""

    case: int
    event: int
    position: int | None
    label: int | None


class _PlainText(NamedTuple):
    """What a look at the bytes of a CSV file shows."""

    lines: int
    blanks_only: bool
    """Whether it has no white space but blanks and the ends of lines."""


def event_examples(
    table: Table, layout: Layout, labelled: bool
) -> tuple[Layout, Iterator[Example]]:
    """The cases of an event table as examples, in the order in which they first appear."""
    label = table.column(layout.label_column, LABEL_NAMES, "label")
    order = layout.order_column
    columns = _Columns(
        case=table.need(table.column(layout.case_column, CASE_NAMES, "case"), "case"),
        event=table.need(table.column(layout.event_column, EVENT_NAMES, "event"), "event"),
        position=None if order is None else table.column(order, (), "order"),
        label=table.need(label, "label") if labelled else label,
    )
    found = replace(
        layout,
        case_column=table.name(columns.case),
        event_column=table.name(columns.event),
        label_column=None if columns.label is None else table.name(columns.label),
        delimiter=table.delimiter,
    )
    return found, _examples(table, columns, labelled)


def _examples(table: Table, columns: _Columns, labelled: bool) -> Iterator[Example]:
    import duckdb

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kleene-events-")))
        try:
            file = folder / "events"
            plain = None if table.lines is None else _plain_text(table, table.lines, file)
            engine = stack.enter_context(closing(_engine(folder, file)))
            if plain is None or not _scan(engine, table, columns, file, plain):
                _insert(engine, table, columns)
            _check(engine, table, columns, labelled)
            engine.execute(_CASES)
            _check_labels(engine, table)
            yield from _cases(engine)
        except duckdb.Error as error:
            reason = " ".join(str(error).split())[:200]
            raise DataError(
                f"cannot group the events of {table.source} ({reason}); check the room in "
                f"{tempfile.gettempdir()}"
            ) from None


def _engine(folder: Path, file: Path) -> DuckDBPyConnection:
    """A database in memory and in the folder that can read one file, and no other."""
    import duckdb

    engine = duckdb.connect(config={"threads": 1, "memory_limit": MEMORY})
    for name, value in {
        "TimeZone": "'UTC'",
        "temp_directory": f"'{_quoted(folder)}'",
        "allowed_paths": f"['{_quoted(file)}']",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "enable_external_access": "false",
        "lock_configuration": "true",
    }.items():
        engine.execute(f"SET {name} = {value}")
    engine.execute(_TABLE)
    return engine


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _scan(
    engine: DuckDBPyConnection, table: Table, columns: _Columns, file: Path, plain: _PlainText
) -> bool:
    """Let the engine read a CSV file; False where it may read it in another way than we do."""
    import duckdb

    values = ", ".join(
        f'{"NULL" if at is None else f"trim(c{at}, $1)"} AS "{role}"'
        for role, at in zip(_ROLES, columns, strict=True)
    )
    types = ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(table.header)))
    delimiter = str(table.delimiter).replace("'", "''")
    source = (
        f"read_csv('{_quoted(file)}', columns = {{{types}}}, delim = '{delimiter}', quote = '\"', "
        "escape = '\"', auto_detect = false, header = false, skip = 1, strict_mode = true, "
        f"max_line_size = {MAX_LINE})"
    )
    rows = f"SELECT row_number() OVER () + 1 AS line, {values} FROM {source}"
    try:
        if plain.blanks_only:  # ten times faster
            engine.execute(_INSERT.format(rows.replace(", $1)", ")")))
        else:
            engine.execute(_INSERT.format(rows), [_SPACE])
        found = _one(engine, "SELECT count(*) FROM events")[0]
    except duckdb.Error:  # our own reader says what is wrong, and in which line
        found = None
    if found != plain.lines - 1:  # a record that is not one line
        engine.execute("DELETE FROM events")
    return bool(found == plain.lines - 1)


def _plain_text(table: Table, lines: Lines, file: Path) -> _PlainText | None:
    """Give the engine the text, and look at it; None where its lines do not all end alike."""
    if str(lines.path) == "-":
        return None
    again, last = Lines(lines.path), b"\n"
    ends = returns = pairs = 0
    blanks_only, marks = True, _MARKS - {str(table.delimiter).encode()}
    with ExitStack() as stack:
        stream = stack.enter_context(again.open())
        copy = None if again.is_plain else stack.enter_context(open(file, "wb"))
        while content := stream.read(_BYTES):
            ends += content.count(b"\n")
            returns += content.count(b"\r")
            pairs += content.count(b"\r\n") + (last == b"\r" and content[:1] == b"\n")
            last = content[-1:]
            blanks_only &= content.isascii() and not any(mark in content for mark in marks)
            if b"\0" in content:
                return None
            if copy is not None:
                copy.write(content)
    if copy is None:
        file.symlink_to(Path(lines.path).absolute())
    alike = returns == pairs and pairs in (0, ends)
    return _PlainText(ends + (last != b"\n"), blanks_only) if alike else None


def _insert(engine: DuckDBPyConnection, table: Table, columns: _Columns) -> None:
    """Hand the engine the rows that our own readers find."""
    import pyarrow as pa

    names = ("line", *_ROLES)
    kinds = [pa.int64(), *[pa.string()] * len(_ROLES)]
    while chunk := list(islice(table.rows, _ROWS)):
        rows = [(line, *_texts(table, row, columns, line)) for line, row in chunk]
        parts = zip(zip(*rows, strict=True), kinds, strict=True)
        arrays = [pa.array(part, kind) for part, kind in parts]
        engine.register("part", pa.table(arrays, names))
        engine.execute(_INSERT.format("SELECT * FROM part"))
        engine.unregister("part")


def _texts(table: Table, row: Sequence[Any], columns: _Columns, line: int) -> Iterator[str | None]:
    for role, at in zip(_ROLES, columns, strict=True):
        value = None if at is None else row[at]
        if role == "label" and at is not None:
            value = table_label(table, row, at, line, labelled=False)
        yield None if is_missing(value) else str(value).strip()


def _check(engine: DuckDBPyConnection, table: Table, columns: _Columns, labelled: bool) -> None:
    """Refuse the first row that lacks a value, or whose position has no place in an order."""
    is_date = "(SELECT number IS NULL FROM events ORDER BY line LIMIT 1)"
    wrong = {
        "case": "coalesce(\"case\", '') = ''",
        "event": "coalesce(event, '') = ''",
        "position": "number IS NULL AND moment IS NULL",
        "mixed": f"(number IS NULL) != {is_date}",
        "label": "label IS NULL",
    }
    if columns.position is None:
        del wrong["position"], wrong["mixed"]
    if not labelled:
        del wrong["label"]
    counted = ", ".join(f"min(line) FILTER ({condition})" for condition in wrong.values())
    lines = _one(engine, f"SELECT {counted} FROM events")
    found = [(line, role) for line, role in zip(lines, wrong, strict=True) if line is not None]
    if not found:
        return
    line, role = min(found, key=lambda one: one[0])
    place: Any = getattr(columns, "position" if role == "mixed" else role)
    name = table.name(place)
    if role == "position":
        value = _one(engine, "SELECT coalesce(position, '') FROM events WHERE line = $1", line)[0]
        raise table.error(not_ordered(name, value), line)
    raise table.error(
        {
            "mixed": f"numbers and dates are mixed in {name!r}",
            "label": f"the label in {name!r} is missing; fill it in or remove the row",
        }.get(role, f"no value in {name!r}; fill it in or remove the row"),
        line,
    )


def _check_labels(engine: DuckDBPyConnection, table: Table) -> None:
    """Refuse a case with two labels."""
    found = engine.execute(
        """SELECT "case", cases.label, coalesce(events.label, ''), line FROM events
        JOIN cases USING ("case") WHERE coalesce(events.label, '') != cases.label
        ORDER BY line LIMIT 1"""
    ).fetchone()
    if found is not None:
        case, one, other, line = found
        raise table.error(
            f"case {case!r:.60} has the labels {one!r:.40} and {other!r:.40}; give all rows of a "
            "case one label",
            line,
        )


def _cases(engine: DuckDBPyConnection) -> Iterator[Example]:
    """The events of each case, in order."""
    before: list[str] = []
    about: tuple[str, str, int] | None = None
    for batch in engine.sql(_SORTED).to_arrow_reader(_ROWS):
        events, cases, labels, starts = batch.columns
        flat = arrow_values(events)
        lines = starts.to_numpy()
        first = np.flatnonzero(np.diff(lines, prepend=about[2] if about else -1))
        ends = [*first[1:].tolist(), len(flat)] if len(first) else []
        before += flat[: first[0] if len(first) else len(flat)]
        told = zip(
            cases.take(first).to_pylist(), labels.take(first).to_pylist(), lines[first].tolist(),
            strict=True,
        )  # fmt: skip
        for start, end, following in zip(first.tolist(), ends, told, strict=True):
            if about is not None:
                yield _example(before, about)
            before, about = flat[start:end], following
    if about is not None:
        yield _example(before, about)


def _example(events: list[str], about: tuple[str, str, int]) -> Example:
    case, label, line = about
    return Example(tuple(events), label or None, line, case)


def _one(engine: DuckDBPyConnection, query: str, *values: object) -> tuple[Any, ...]:
    found: tuple[Any, ...] = engine.execute(query, list(values)).fetchone() or ()
    return found


def position_of(value: Any) -> float | str | None:
    """Something that sorts as the value does: a number, or a date in UTC as ISO text."""
    try:
        number = float(value)
        return None if number != number else number
    except (TypeError, ValueError, OverflowError):
        with suppress(TypeError, ValueError, OverflowError):
            moment = datetime.fromisoformat(str(value).strip())
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return aware.astimezone(UTC).isoformat(timespec="microseconds")
    return None


def not_ordered(name: str, value: Any) -> str:
    """What to say of a value that has no place in an order."""
    return f"{name!r} must be a number or an ISO date, got {value!r:.40}"
