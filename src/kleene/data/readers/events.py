"""Sequences from tables of events: the rows of one case are one sequence.

Rows are grouped and sorted by a temporary SQLite database on disk, so that a table may be larger
than memory and its rows in any order.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from kleene.data.example import Example
from kleene.data.layout import Layout
from kleene.data.missing import is_missing
from kleene.data.readers.tables import LABEL_NAMES, Table, table_label
from kleene.errors import DataError

CASE_NAMES = ("case", "case_id", "case:concept:name", "session", "session_id", "trace", "trace_id")
EVENT_NAMES = ("event", "activity", "concept:name", "action", "symbol")
_CHUNK = 10_000
_FIRST = "INSERT INTO cases SELECT name, MIN(rowid) FROM events GROUP BY name"
_ORDERED = """
    SELECT event, label, line, events.name
    FROM events CROSS JOIN cases ON events.name = cases.name
    ORDER BY first, position, events.rowid
"""  # CROSS JOIN keeps SQLite to this order: one look-up of its case for each event


def event_examples(
    table: Table, layout: Layout, labelled: bool
) -> tuple[Layout, Iterator[Example]]:
    """The cases of an event table as examples, in the order in which they first appear."""
    case = table.column(layout.case_column, CASE_NAMES, "case")
    event = table.column(layout.event_column, EVENT_NAMES, "event")
    order = label = None
    if layout.order_column is not None:
        order = table.column(layout.order_column, (), "order")
    has_usual = any(name.lower() in LABEL_NAMES for name in table.header)
    if labelled or layout.label_column or has_usual:
        label = table.column(layout.label_column, LABEL_NAMES, "label")
    found = replace(
        layout,
        case_column=table.header[case],
        event_column=table.header[event],
        label_column=None if label is None else table.header[label],
        delimiter=table.delimiter,
    )

    def rows() -> Iterator[tuple[Any, ...]]:
        kind: type | None = None
        for line, row in table.rows:
            for at in (case, event):
                if is_missing(row[at]) or str(row[at]).strip() == "":
                    name = table.header[at]
                    raise table.error(f"no value in {name!r}; fill it in or remove the row", line)
            position: float | str | None = None
            if order is not None:
                position = position_of(row[order])
                name = table.header[order]
                if position is None:
                    raise table.error(not_ordered(name, row[order]), line)
                kind = kind or type(position)
                if type(position) is not kind:
                    raise table.error(f"numbers and dates are mixed in {name!r}", line)
            of_row = None if label is None else table_label(table, row, label, line, labelled)
            text = None if of_row is None else str(of_row)
            yield str(row[case]).strip(), str(row[event]).strip(), text, line, position

    return found, _grouped(table, rows())


def _grouped(table: Table, rows: Iterator[tuple[Any, ...]]) -> Iterator[Example]:
    handle, path = tempfile.mkstemp(prefix="kleene-events-", suffix=".sqlite")
    os.close(handle)
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = OFF")
            database.execute("PRAGMA synchronous = OFF")
            database.execute("CREATE TABLE events (name, event, label, line INTEGER, position)")
            database.execute("BEGIN")
            database.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rows)
            database.execute("CREATE TABLE cases (name PRIMARY KEY, first) WITHOUT ROWID")
            database.execute(_FIRST)
            database.execute("COMMIT")
            cursor = database.execute(_ORDERED)
            cursor.arraysize = _CHUNK
            for name, group in groupby(cursor, key=lambda row: row[3]):
                yield _example(table, str(name), list(group))
    except sqlite3.Error as error:
        raise DataError(
            f"cannot group the events of {table.source} ({error}); check the room in "
            f"{tempfile.gettempdir()}"
        ) from None
    finally:
        Path(path).unlink(missing_ok=True)
        if isinstance(table.rows, Generator):  # now, not when the garbage collector finds it
            table.rows.close()


def _example(table: Table, name: str, rows: list[tuple[str, str | None, int, str]]) -> Example:
    events, labels, lines, _ = zip(*rows, strict=True)
    first = min(lines)
    for label, line in zip(labels, lines, strict=True):
        if label != labels[0]:
            raise table.error(
                f"case {name!r:.60} has the labels {labels[0]!r:.40} and {label!r:.40}; give all "
                "rows of a case one label",
                max(line, first),
            )
    return Example(tuple(events), labels[0], first, name)


def position_of(value: Any) -> float | str | None:
    """Something that sorts as the value does: a number, or a date in UTC as ISO text."""
    try:
        if isinstance(value, date):
            return _utc(value)
        number = float(value)
        return None if number != number else number
    except (TypeError, ValueError, OverflowError):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            return _utc(datetime.fromisoformat(str(value).strip()))
    return None


def not_ordered(name: str, value: Any) -> str:
    """What to say of a value that has no place in an order."""
    return f"{name!r} must be a number or an ISO date, got {value!r:.40}"


def _utc(moment: date) -> str:
    """A date as text; one without a time zone counts as UTC, one without a time as midnight."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="microseconds")
