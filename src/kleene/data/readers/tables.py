"""Tables of examples, a row each: CSV with any delimiter, and Parquet."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kleene.data.example import Example
from kleene.data.layout import Layout
from kleene.data.missing import is_missing
from kleene.data.readers.lines import MAX_LINE, Lines
from kleene.errors import DataError
from kleene.files import open_regular

TEXT_NAMES = ("sequence", "word", "text", "sentence", "review", "document", "comment", "content")
LABEL_NAMES = ("label", "class", "category", "sentiment", "target", "output")
EXAMPLE_HEADER = "such as text,label"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A header and rows with their line numbers; `source` names the file in errors."""

    source: str
    header: list[str]
    rows: Iterator[tuple[int, Sequence[Any]]]
    delimiter: str | None = None

    def error(self, problem: str, line: int = 1) -> DataError:
        """The error for a line, by default the header."""
        return DataError(f"{self.source}, line {line}: {problem}")

    def column(self, name: str | None, usual: Sequence[str], role: str) -> int:
        """The place of the column called `name`, or else of the only one with a usual name."""
        places = [i for i, column in enumerate(self.header) if column == name]
        if name is None:
            places = [i for i, column in enumerate(self.header) if column.lower() in usual]
        if len(places) == 1:
            return places[0]
        if reason := self._malformed():
            raise self.error(reason)
        columns = ", ".join(map(repr, self.header))[:200]
        problem = f"cannot tell which column is the {role} among {columns}"
        if name is not None:
            found = "several columns are" if places else "no column is"
            problem = f"{found} called {name!r} among {columns}"
        raise self.error(f"{problem}; name one with --{role}-column")

    def _malformed(self) -> str | None:
        """Why a header may lack the column looked for, if it looks like no header at all."""
        for other, option in ((";", "';'"), ("\t", "tab"), ("|", "'|'")):
            if len(self.header) == 1 and other in self.header[0]:
                name = {";": "semicolons", "\t": "tabs", "|": "bars"}[other]
                return f"the columns are separated by {name}, not commas; give --delimiter {option}"
        if any(_is_number(name) or len(name) > 60 or not name for name in self.header):
            shown = ", ".join(repr(name[:30]) for name in self.header[:4])
            cure = f"add a first line with the names of the columns, {EXAMPLE_HEADER}"
            return f"the file has no header, its first line is data ({shown}); {cure}"
        return None


def csv_table(lines: Lines, content: Iterator[str], delimiter: str | None) -> Table:
    """The header and the rows of a CSV file; quotes are those of RFC 4180."""
    delimiter = delimiter or ","
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))  # the csv module has only a global
    records = csv.reader((line + "\n" for line in content), strict=True, delimiter=delimiter)
    header: list[str] = []

    def rows() -> Iterator[tuple[int, list[str]]]:
        begin = 1
        try:
            for record in records:
                if not header:
                    yield 1, record
                elif record:
                    if len(record) != len(header):
                        found = f"{len(record)} columns, but the header has {len(header)}"
                        cure = f"quote texts that contain {delimiter!r}"
                        raise lines.error(f"{found}; {cure}", begin)
                    yield begin, record
                begin = lines.number + 1
        except csv.Error as error:
            message = f"malformed CSV ({error}); close quotes, double those inside a text"
            raise lines.error(message, begin) from None

    found = rows()
    header += [name.strip() for name in next(found)[1]]
    return Table(source=lines.name, header=header, rows=found, delimiter=delimiter)


def parquet_table(path: str | Path) -> Table:
    """The columns and the rows of a Parquet file, read a batch at a time."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise DataError(
            f"{path}: Parquet files need the package pyarrow; pip install 'kleene[parquet]'"
        ) from None

    @contextmanager
    def opened() -> Iterator[Any]:
        try:
            with open_regular(path) as stream:
                yield parquet.ParquetFile(stream)
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())[:120]
            raise DataError(
                f"{path} is not a complete Parquet file ({reason}); write it again"
            ) from None

    def rows() -> Iterator[tuple[int, Sequence[Any]]]:
        number = 0
        with opened() as file:
            for batch in file.iter_batches(batch_size=4096):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    number += 1
                    yield number, row

    with opened() as file:
        header = list(file.schema_arrow.names)
    return Table(source=str(path), header=header, rows=rows())


def table_examples(
    table: Table, layout: Layout, labelled: bool
) -> tuple[Layout, Iterator[Example]]:
    """The examples of a table with one sequence a row, and the columns that hold them."""
    text = table.column(layout.text_column, TEXT_NAMES, "text")
    label: int | None = None
    has_usual = any(name.lower() in LABEL_NAMES for name in table.header)
    if labelled or layout.label_column or has_usual:
        label = table.column(layout.label_column, LABEL_NAMES, "label")
    found = replace(
        layout,
        text_column=table.header[text],
        label_column=None if label is None else table.header[label],
        delimiter=table.delimiter,
    )

    def examples() -> Iterator[Example]:
        for line, row in table.rows:
            word = row[text]
            if is_missing(word) or word == "":
                raise table.error(missing_text(table.header[text]), line)
            yield Example(
                tuple(word) if isinstance(word, list) else word,
                None if label is None else table_label(table, row, label, line, labelled),
                line,
                row=dict(zip(table.header, row, strict=True)),
            )

    return found, examples()


def missing_text(column: str) -> str:
    """What to say of a row without a text."""
    return f"the text in {column!r} is missing; fill it in or remove the row"


def table_label(table: Table, row: Sequence[Any], at: int, line: int, labelled: bool) -> Any:
    """The label of a row, stripped of white space; None where it is missing and may be."""
    label = row[at].strip() if isinstance(row[at], str) else row[at]
    if is_missing(label) or label == "":
        if labelled:
            name = table.header[at]
            raise table.error(
                f"the label in {name!r} is missing; fill it in or remove the row", line
            )
        return None
    return label


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
