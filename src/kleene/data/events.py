"""Sequences from tables of events: the rows of one case are one sequence.

DuckDB groups and sorts the rows, on disk where they do not fit into memory. It reads CSV files of
one line a record itself; other rows come from our own readers, whose errors name the line. It may
open nothing but the one file and a temporary folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.data.layout import LABEL_NAMES, Example, Layout
from kleene.data.lines import MAX_LINE, Lines
from kleene.data.tables import Table
from kleene.data.words import arrow_values, without_surrogates
from kleene.errors import DataError, extra
from kleene.machine import is_missing

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CASE_NAMES = ("case", "case_id", "case:concept:name", "session", "session_id", "trace", "trace_id")
EVENT_NAMES = ("event", "activity", "concept:name", "action", "symbol")
MEMORY = "512MB"
_ROWS, _BYTES = 10_000, 2**17
_TABLE = """
    CREATE TABLE events (line BIGINT, "case" VARCHAR, event VARCHAR, position VARCHAR,
    label VARCHAR, number DOUBLE, moment TIMESTAMPTZ)
"""
_INSERT = """
    INSERT INTO events SELECT line, trim("case"), trim(event), place, nullif(trim(label), ''),
    number, CASE WHEN number IS NULL THEN try_cast(place AS TIMESTAMPTZ) END
    FROM (SELECT *, trim(position) AS place, nullif(try_cast(place AS DOUBLE), 'nan'::DOUBLE)
    AS number FROM ({}))
"""
_CASES = """
    CREATE TABLE cases AS SELECT "case", min(line) AS line, min(coalesce(label, '')) AS label,
    max(coalesce(label, '')) AS other FROM events GROUP BY "case"
"""
_SORTED = """
    SELECT cases.line, "case", cases.label, event FROM events JOIN cases USING ("case")
    ORDER BY cases.line, number, moment, events.line
"""
_MISSING = "no value in {name!r}; fill it in or remove the row"
_CHECKS = (
    ("case", "coalesce(\"case\", '') = ''", _MISSING),
    ("event", "coalesce(event, '') = ''", _MISSING),
    ("position", "number IS NULL AND moment IS NULL",
     "{name!r} must be a number or an ISO date, got {value!r:.40}"),
    ("position", "(number IS NULL) != (SELECT number IS NULL FROM events ORDER BY line LIMIT 1)",
     "numbers and dates are mixed in {name!r}"),
    ("label", "label IS NULL", "the label in {name!r} is missing; fill it in or remove the row"),
)  # fmt: skip
Columns = dict[str, int | None]
"""The place of the column of each role; position and label may have none."""


def event_examples(
    table: Table, layout: Layout, labelled: bool
) -> tuple[Layout, Iterator[Example]]:
    """The cases of an event table as examples, in the order in which they first appear."""
    label = table.column(layout.label_column, LABEL_NAMES, "label")
    order = layout.order_column
    case = table.need(table.column(layout.case_column, CASE_NAMES, "case"), "case")
    event = table.need(table.column(layout.event_column, EVENT_NAMES, "event"), "event")
    columns: Columns = {
        "case": case,
        "event": event,
        "position": None if order is None else table.column(order, (), "order"),
        "label": table.need(label, "label") if labelled else label,
    }
    found = replace(
        layout,
        case_column=table.name(case),
        event_column=table.name(event),
        label_column=None if label is None else table.name(label),
        delimiter=table.delimiter,
    )
    return found, _examples(table, columns, labelled)


def _examples(table: Table, columns: Columns, labelled: bool) -> Iterator[Example]:
    with extra("data"):
        import duckdb
        import pyarrow  # noqa: F401

    with tempfile.TemporaryDirectory(prefix="kleene-events-") as folder:
        file = Path(folder) / "events"
        try:
            lines = _prepare(table, file)
            with closing(_engine(Path(folder), file)) as engine:
                if lines is None or not _scan(engine, table, columns, file, lines):
                    _insert(engine, table, columns)
                _check(engine, table, columns, labelled)
                batches = engine.sql(_SORTED).to_arrow_reader(_ROWS)
                rows = (zip(*map(arrow_values, batch.columns), strict=True) for batch in batches)
                by_case = groupby(chain.from_iterable(rows), key=itemgetter(0, 1, 2))
                for (line, case, label), events in by_case:
                    yield Example(tuple(map(itemgetter(3), events)), label or None, line, case)
        except duckdb.Error as error:
            reason = " ".join(str(error).split())[:200]
            cure = f"check the room in {tempfile.gettempdir()}"
            found = f"cannot group the events of {table.lines.name} ({reason})"
            raise DataError(f"{found}; {cure}") from None


def _engine(folder: Path, file: Path) -> DuckDBPyConnection:
    """A database in memory and in the folder that can read one file, and no other."""
    import duckdb

    engine = duckdb.connect(config={"threads": 1, "memory_limit": MEMORY})
    for name, value in {
        "TimeZone": "'UTC'",
        "temp_directory": _quoted(folder),
        "allowed_paths": f"[{_quoted(file)}]",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "enable_external_access": "false",
        "lock_configuration": "true",
    }.items():
        engine.execute(f"SET {name} = {value}")
    engine.execute(_TABLE)
    return engine


def _quoted(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def _prepare(table: Table, file: Path) -> int | None:
    """Give the engine a CSV file, and count its lines; None where it cannot read it as we do."""
    if table.delimiter is None or table.lines.name == "standard input":
        return None
    again, mark = Lines(table.lines.path), table.delimiter.encode()
    ends = returns = pairs = 0
    with again.open() as stream, open(file, "wb") as copy:
        # A part ends with a line, so that no pair of line ends is cut.
        while part := stream.read(_BYTES) + stream.readline(MAX_LINE):
            lines = part.replace(b"\r\n", b"\n").removesuffix(b"\n") + b"\n"
            if b"\0" in part or mark + b"\n" in lines:  # it overlooks an empty column too many
                return None
            last, ends = part, ends + part.count(b"\n")
            returns, pairs = returns + part.count(b"\r"), pairs + part.count(b"\r\n")
            if again.is_packed:
                copy.write(part)
    if not again.is_packed:
        file.unlink()
        file.symlink_to(again.path.absolute())
    alike = returns == pairs and pairs in (0, ends)
    return ends + (not last.endswith(b"\n")) if alike else None


def _scan(
    engine: DuckDBPyConnection, table: Table, columns: Columns, file: Path, lines: int
) -> bool:
    """Let the engine read a CSV file; False where some record is malformed or not one line."""
    import duckdb

    roles = ", ".join(
        f'{"NULL" if at is None else f"c{at}"} AS "{role}"' for role, at in columns.items()
    )
    types = ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(table.header)))
    source = (
        f"read_csv({_quoted(file)}, columns = {{{types}}}, delim = {_quoted(table.delimiter)}, "
        "quote = '\"', escape = '\"', auto_detect = false, header = false, skip = 1, "
        f"strict_mode = true, max_line_size = {MAX_LINE})"
    )
    query = _INSERT.format(f"SELECT row_number() OVER () + 1 AS line, {roles} FROM {source}")
    try:
        rows = engine.execute(query).fetchall()[0][0]
    except duckdb.Error:  # our own reader says what is wrong, and in which line
        rows = None
    if rows != lines - 1:
        engine.execute("DELETE FROM events")
    return bool(rows == lines - 1)


def _insert(engine: DuckDBPyConnection, table: Table, columns: Columns) -> None:
    """Hand the engine the rows that our own readers find."""
    import pyarrow as pa

    types = [pa.int64(), *[pa.string()] * len(columns)]
    schema = pa.schema(list(zip(("line", *columns), types, strict=True)))
    while chunk := list(islice(table.rows, _ROWS)):
        lines, rows = zip(*chunk, strict=True)
        texts = [[_text(row, at) for row in rows] for at in columns.values()]
        engine.register("part", pa.table([lines, *texts], schema=schema))
        engine.execute(_INSERT.format("SELECT * FROM part"))
        engine.unregister("part")


def _text(row: Any, at: int | None) -> str | None:
    value = None if at is None else row[at]
    return None if is_missing(value) else without_surrogates(str(value))


def _check(engine: DuckDBPyConnection, table: Table, columns: Columns, labelled: bool) -> None:
    """Refuse a row that lacks a value or has no place in an order, and a case with two labels."""
    for role, condition, problem in _CHECKS:
        at = columns[role]
        if at is None or (role == "label" and not labelled):
            continue
        first = f"""SELECT line, coalesce("{role}", '') FROM events WHERE {condition}"""
        found = engine.execute(f"{first} ORDER BY line LIMIT 1").fetchone()
        if found is not None:
            raise table.error(problem.format(name=table.name(at), value=found[1]), found[0])
    engine.execute(_CASES)
    found = engine.execute("FROM cases WHERE label != other ORDER BY line LIMIT 1").fetchone()
    if found is not None:
        case, line, one, other = found
        raise table.error(
            f"case {case!r:.60} has the labels {one!r:.40} and {other!r:.40}; give all rows of a "
            "case one label",
            line,
        )
