"""Tables of examples, a row each: TSV, CSV with any delimiter, JSONL and Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from kleene.data.layout import LABEL_NAMES, TEXT_NAMES, Example, Layout
from kleene.data.lines import MAX_LINE, Lines
from kleene.data.words import is_missing, json_word, without_surrogates
from kleene.errors import DataError
from kleene.files import open_regular

EXAMPLE_HEADER = "such as text,label"
SAMPLE_ROWS = 1000  # looked at where names do not tell the columns
MAX_FEW = 50  # different values of a column of labels, unless it is called so
MAX_NESTING = 5  # of JSON objects whose keys are joined by dots
_KEYED_ROWS = 100  # JSON objects whose keys are the columns
_ABSENT = object()


@dataclass(kw_only=True)
class Table:
    """A header and rows with their line numbers."""

    source: str
    """The file, as errors name it."""
    header: list[str]
    rows: Iterator[tuple[int, Sequence[Any]]]
    delimiter: str | None = None
    lines: Lines | None = None
    """The text file that a CSV table is read from."""
    parquet: Path | None = None
    is_named: bool = True
    """Whether the header stands in the file."""
    keeps_empty: bool = False
    """Whether an empty text is a sequence without symbols; it is missing otherwise."""

    def error(self, problem: str, line: int = 1) -> DataError:
        """The error for a line, by default the header."""
        return DataError(f"{self.source}, line {line}: {problem}")

    def name(self, at: int) -> str:
        """The name of a column; its position, from 1, where several have that name."""
        name = self.header[at]
        return name if name and self.header.count(name) == 1 else str(at + 1)

    def column(self, name: str | None, usual: Sequence[str], role: str) -> int | None:
        """The place of the column of a name or position, or else of the only usual name."""
        if name is None:
            places = [i for i, column in enumerate(self.header) if column.lower() in usual]
            return places[0] if len(places) == 1 else None
        places = [i for i, column in enumerate(self.header) if column == name]
        if not places and name.isascii() and name.isdecimal() and self._malformed() is None:
            places = [i for i in range(len(self.header)) if i + 1 == int(name[:9])]
        if len(places) == 1:
            return places[0]
        if reason := self._malformed():
            raise self.error(reason)
        found = f"no column is called {name!r} among {self._listed()}; name one"
        if places:
            found = f"several columns are called {name!r}; name one by its position, from 1,"
        raise self.error(f"{found} with --{role}-column")

    def need(self, at: int | None, role: str) -> int:
        """The same place, or an error that says how to name the column."""
        if at is not None:
            return at
        problem = f"cannot tell which column is the {role} among {self._listed()}"
        raise self.error(self._malformed() or f"{problem}; name one with --{role}-column")

    def by_content(self, text: int | None, label: int | None) -> tuple[int | None, int | None]:
        """Columns that are not known by name, where the first rows leave no doubt.

        The column of sequences has many different values and is the longest by far; the column of
        labels is the only one of few values that repeat.
        """
        if self._malformed() is not None:
            return text, label
        head = list(islice(self.rows, SAMPLE_ROWS))
        self.rows = chain(head, self.rows)
        values = [[row[i] for _, row in head if not is_missing(row[i])] for i in _places(self)]
        counts = [len(set(map(repr, column))) for column in values]
        few = [1 < n <= min(MAX_FEW, len(head) // 2) for n in counts]
        if text is None:
            lengths = {i: _mean_length(values[i]) for i in _places(self) if i != label}
            many = [i for i in lengths if counts[i] > 1 and not few[i] and lengths[i] > 0]
            many.sort(key=lambda i: -lengths[i])
            if many and (len(many) == 1 or lengths[many[0]] >= 2 * lengths[many[1]]):
                text = many[0]
        if label is None:
            found = [i for i in _places(self) if few[i] and i != text]
            label = found[0] if len(found) == 1 and text is not None else None
        return text, label

    def _listed(self) -> str:
        return ", ".join(map(repr, self.header))[:200]

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


def table_examples(
    table: Table, layout: Layout, labelled: bool
) -> tuple[Layout, Iterator[Example]]:
    """The examples of a table with one sequence a row, and the columns that hold them."""
    text = table.column(layout.text_column, TEXT_NAMES, "text")
    label = table.column(layout.label_column, LABEL_NAMES, "label")
    unknown = text is None or (labelled and label is None)
    if unknown:
        text, found = table.by_content(text, label)
        label = found if labelled or label is not None else None
    at = table.need(text, "text")
    label = table.need(label, "label") if labelled else label
    if table.is_named:
        layout = replace(
            layout,
            text_column=table.name(at),
            label_column=None if label is None else table.name(label),
            delimiter=table.delimiter,
            by_content=unknown,
        )
    names = [table.name(i) for i in _places(table)]

    def examples() -> Iterator[Example]:
        kind: type | None = None
        for line, row in table.rows:
            value = row[at]
            if is_missing(value) or (value == "" and not table.keeps_empty):
                problem = f"the text in {names[at]!r} is missing; fill it in or remove the row"
                raise table.error(problem, line)
            try:
                word = json_word(value)
            except DataError as error:
                raise table.error(str(error), line) from None
            kind = kind or type(word)
            if type(word) is not kind:
                raise table.error("sequences must be all texts or all lists, got both", line)
            of_row = None if label is None else table_label(table, row, label, line, labelled)
            yield Example(word, of_row, line, row=dict(zip(names, row, strict=True)))

    return layout, examples()


def table_label(table: Table, row: Sequence[Any], at: int, line: int, labelled: bool) -> Any:
    """The label of a row, stripped of white space; None where it is missing and may be."""
    label = row[at].strip() if isinstance(row[at], str) else row[at]
    if isinstance(label, list | tuple | dict):
        raise table.error(f"a label must be a string, number or boolean, got {label!r:.40}", line)
    if is_missing(label) or label == "":
        if labelled:
            problem = f"the label in {table.name(at)!r} is missing; fill it in or remove the row"
            raise table.error(problem, line)
        return None
    return without_surrogates(label)


def tsv_table(lines: Lines, content: Iterator[str], labelled: bool) -> Table:
    """Lines of `word<TAB>label`; without `labelled` also of words only."""

    def rows() -> Iterator[tuple[int, Sequence[Any]]]:
        width = 0
        for line in content:
            columns = line.split("\t")
            if not line and width != 1 and (labelled or width):
                continue  # where every word has a label, an empty line is no word
            if labelled and len(columns) < 2 and lines.number == 1:
                got = f"got {line[:40]!r} without a tab{_cure(line)}"
                raise lines.error(f"expected word<TAB>label, {got}")
            if len(columns) > 2 or (labelled and len(columns) < 2):
                got = f"{len(columns) - 1} tabs in {line[:40]!r}"
                raise lines.error(f"expected word<TAB>label, got {got}; put one tab between them")
            if width and len(columns) != width:
                raise lines.error(f"expected {width} columns, got {len(columns)}")
            is_header = not width and _is_header(columns)
            width = len(columns)
            if not is_header:
                yield lines.number, columns if width == 2 else [*columns, None]

    header = ["sequence", "label"]
    return Table(
        source=lines.name, header=header, rows=rows(), is_named=False, keeps_empty=True, lines=lines
    )


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
    return Table(source=lines.name, header=header, rows=found, delimiter=delimiter, lines=lines)


def jsonl_table(lines: Lines, content: Iterator[str]) -> Table:
    """Objects, one a line; the keys of the first ones are the columns, nested as `a.b`."""
    objects = ((lines.number, _object(lines, line)) for line in content if line.strip())
    head = list(islice(objects, _KEYED_ROWS))
    header = list(dict.fromkeys(key for _, record in head for key in _keys(record)))
    rows = ((n, [_value(record, k) for k in header]) for n, record in chain(head, objects))
    return Table(source=lines.name, header=header, rows=rows, keeps_empty=True)


def parquet_table(path: str | Path) -> Table:
    """The columns and the rows of a Parquet file, read a batch at a time."""
    import pyarrow
    from pyarrow import parquet

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
    return Table(source=str(path), header=header, rows=rows(), parquet=Path(path))


def _object(lines: Lines, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except RecursionError:
        raise lines.error("JSON nested too deep; give flat sequences") from None
    except ValueError as error:
        raise lines.error(f"malformed JSON ({error}); give one object a line") from None
    if not isinstance(record, dict):
        kind = type(record).__name__
        raise lines.error(
            f'expected an object such as {{"sequence": ..., "label": ...}}, got a JSON {kind}'
        )
    return record


def _keys(record: dict[str, Any], before: str = "", depth: int = 1) -> Iterator[str]:
    for key, value in record.items():
        if isinstance(value, dict) and value and depth < MAX_NESTING:
            yield from _keys(value, f"{before}{key}.", depth + 1)
        else:
            yield f"{before}{key}"


def _value(record: Any, key: str) -> Any:
    found = record.get(key, _ABSENT)
    if found is not _ABSENT:
        return found
    first, _, rest = key.partition(".")
    inner = record.get(first) if rest else None
    return _value(inner, rest) if isinstance(inner, dict) else None


def _places(table: Table) -> range:
    return range(len(table.header))


def _mean_length(values: Sequence[Any]) -> float:
    """How long texts and lists are, on average; other values have no length."""
    sizes = [len(str(value)) for value in values if isinstance(value, str | list)]
    return sum(sizes) / max(len(values), 1)


def _cure(line: str) -> str:
    for mark, name in ((",", "comma"), (";", "semicolon"), ("|", "pipe")):
        if mark in line:
            return f"; for a table with a header give --delimiter {name}"
    return "; put a tab between text and label"


def _is_header(columns: list[str]) -> bool:
    names = (TEXT_NAMES, LABEL_NAMES)
    return len(columns) == 2 and all(c.lower() in n for c, n in zip(columns, names, strict=True))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
