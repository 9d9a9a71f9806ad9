"""Tables with one row per example or event: TSV, CSV with any delimiter, JSONL and Parquet.

The readers stream, and their errors name the line and the cure. DuckDB reads these formats as well,
but to turn its errors into such lines takes more code than the readers have.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from kleene.data.layout import LABEL_NAMES, TEXT_NAMES
from kleene.data.lines import MAX_LINE, Lines
from kleene.errors import DataError, extra
from kleene.files import open_regular
from kleene.machine import is_missing

SAMPLE_ROWS = 1000  # looked at where names do not tell the columns
MAX_FEW = 50  # different values of a column of labels, unless it is called so
MAX_NESTING = 5  # of JSON objects whose keys are joined by dots
DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
_KEYED_ROWS = 100  # JSON objects whose keys are the columns
Rows = Iterator[tuple[int, Sequence[Any]]]


@dataclass(kw_only=True)
class Table:
    """A header and rows with their line numbers."""

    lines: Lines
    header: list[str]
    rows: Rows
    delimiter: str | None = None
    is_named: bool = True
    """Whether the header stands in the file."""
    keeps_empty: bool = False
    """Whether an empty text is a sequence without symbols; it is missing otherwise."""

    def error(self, problem: str, line: int = 1) -> DataError:
        """The error for a line, by default the header."""
        return self.lines.error(problem, line)

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
        if not places and self._malformed() is None:
            places = [i for i in range(len(self.header)) if str(i + 1) == name]
        if len(places) == 1:
            return places[0]
        found = f"no column is called {name!r} among {self._listed()}; name one"
        if places:
            found = f"several columns are called {name!r}; name one by its position, from 1,"
        raise self.error(self._malformed() or f"{found} with --{role}-column")

    def need(self, at: int | None, role: str) -> int:
        """The same place, or an error that says how to name the column."""
        if at is not None:
            return at
        problem = f"cannot tell which column is the {role} among {self._listed()}"
        raise self.error(self._malformed() or f"{problem}; name one with --{role}-column")

    def by_content(self, text: int | None, label: int | None) -> tuple[int | None, int | None]:
        """Columns that are not known by name, where the first rows leave no doubt.

        The column of sequences is the longest by far; it has many different values, or white space
        in them. The column of labels is the only other one of few values that repeat.
        """
        if self._malformed() is not None:
            return text, label
        head = list(islice(self.rows, SAMPLE_ROWS))
        self.rows = chain(head, self.rows)
        columns = range(len(self.header))
        values = [[row[i] for _, row in head if not is_missing(row[i])] for i in columns]
        counts = [len(set(map(repr, column))) for column in values]
        few = [1 < count <= min(MAX_FEW, len(head) // 2) for count in counts]
        if text is None:
            spare = sum(few) > 1 or label is not None  # one of few values is left for the labels
            lengths = {
                i: _mean_length(values[i])
                for i in columns
                if i != label and counts[i] > 1 and (not few[i] or (spare and _spaced(values[i])))
            }
            long = sorted((i for i in lengths if lengths[i] > 0), key=lambda i: -lengths[i])
            if long and (len(long) == 1 or lengths[long[0]] >= 2 * lengths[long[1]]):
                text = long[0]
        if label is None and text is not None:
            found = [i for i in columns if few[i] and i != text]
            label = found[0] if len(found) == 1 else None
        return text, label

    def _listed(self) -> str:
        return ", ".join(map(repr, self.header))[:200]

    def _malformed(self) -> str | None:
        """Why a header may lack the column looked for, if it looks like no header at all."""
        if any(_is_number(name) or len(name) > 60 or not name for name in self.header):
            shown = ", ".join(repr(name[:30]) for name in self.header[:4])
            cure = "add a first line with the names of the columns, such as text,label"
            return f"the file has no header, its first line is data ({shown}); {cure}"
        return None


def guess_delimiter(header: str) -> str:
    """A comma where the header has one, else a semicolon, tab or bar."""
    return next((mark for mark in DELIMITER_NAMES if mark in header), ",")


def tsv_table(lines: Lines, content: Iterator[str], labelled: bool) -> Table:
    """Lines of `word<TAB>label`; without `labelled` also of words only."""

    def rows() -> Rows:
        width = 0
        for line in content:
            columns = line.split("\t")
            if not line and width != 1 and (labelled or width):
                continue  # where every word has a label, an empty line is no word
            if len(columns) > 2 or (labelled and len(columns) < 2):
                marks = [f"for a table give --delimiter {n}" for m, n in DELIMITER_NAMES.items()
                         if m in line and "\t" not in line]  # fmt: skip
                cure = marks[0] if marks else "put one tab between text and label"
                found = f"{len(columns) - 1} tabs in {line[:40]!r}"
                raise lines.error(f"expected word<TAB>label, got {found}; {cure}")
            if width and len(columns) != width:
                raise lines.error(f"expected {width} columns, got {len(columns)}")
            is_header = not width and _is_header(columns)
            width = len(columns)
            if not is_header:
                yield lines.number, columns if width == 2 else [*columns, None]

    header = ["sequence", "label"]
    return Table(lines=lines, header=header, rows=rows(), is_named=False, keeps_empty=True)


def csv_table(lines: Lines, content: Iterator[str], delimiter: str) -> Table:
    """The header and the rows of a CSV file; quotes are those of RFC 4180."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))  # the csv module has only a global
    records = csv.reader((line + "\n" for line in content), strict=True, delimiter=delimiter)

    def rows() -> Rows:
        width, begin = 0, 1
        try:
            for record in records:
                width = width or len(record)
                if record and len(record) != width:
                    found = f"{len(record)} columns, but the header has {width}"
                    raise lines.error(f"{found}; quote texts that contain {delimiter!r}", begin)
                if record:
                    yield begin, record
                begin = lines.number + 1
        except csv.Error as error:
            message = f"malformed CSV ({error}); close quotes, double those inside a text"
            raise lines.error(message, begin) from None

    found = rows()
    header = [name.strip() for name in next(found, (1, []))[1]]
    return Table(lines=lines, header=header, rows=found, delimiter=delimiter)


def jsonl_table(lines: Lines, content: Iterator[str]) -> Table:
    """Objects, one a line; the keys of the first ones are the columns, nested as `a.b`."""
    objects = ((lines.number, _object(lines, line)) for line in content if line.strip())
    head = list(islice(objects, _KEYED_ROWS))
    header = list(dict.fromkeys(key for _, record in head for key in record))
    rows = ((n, [record.get(key) for key in header]) for n, record in chain(head, objects))
    return Table(lines=lines, header=header, rows=rows, keeps_empty=True)


def parquet_table(lines: Lines) -> Table:
    """The columns and the rows of a Parquet file, read a batch at a time."""
    with extra("data"):
        import pyarrow
        from pyarrow import parquet

    def rows() -> Rows:
        try:
            with open_regular(lines.path) as stream:
                file = parquet.ParquetFile(stream)
                yield 0, file.schema_arrow.names
                columns = ([c.to_pylist() for c in b.columns] for b in file.iter_batches(4096))
                yield from enumerate(chain.from_iterable(zip(*c, strict=True) for c in columns), 1)
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())[:120]
            raise DataError(
                f"{lines.name} is not a complete Parquet file ({reason}); write it again"
            ) from None

    found = rows()
    return Table(lines=lines, header=list(next(found)[1]), rows=found)


def _object(lines: Lines, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except RecursionError:
        raise lines.error("JSON nested too deep; give flat sequences") from None
    except ValueError as error:
        raise lines.error(f"malformed JSON ({error}); give one object a line") from None
    if not isinstance(record, dict):
        needed = 'an object such as {"sequence": ..., "label": ...}'
        raise lines.error(f"expected {needed}, got a JSON {type(record).__name__}")
    return dict(_flat(record))


def _flat(record: dict[str, Any], before: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict) and value and depth < MAX_NESTING:
            yield from _flat(value, f"{before}{key}.", depth + 1)
        else:
            yield f"{before}{key}", value


def _mean_length(values: Sequence[Any]) -> float:
    """How long texts and lists are, on average; other values have no length."""
    sizes = [len(str(value)) for value in values if isinstance(value, str | list)]
    return sum(sizes) / max(len(values), 1)


def _spaced(values: Sequence[Any]) -> bool:
    """Whether most values are lists or texts with white space."""
    parts = [isinstance(v, list) or (isinstance(v, str) and len(v.split()) > 1) for v in values]
    return 2 * sum(parts) > len(values)


def _is_header(columns: list[str]) -> bool:
    names = (TEXT_NAMES, LABEL_NAMES)
    return len(columns) == 2 and all(c.lower() in n for c, n in zip(columns, names, strict=True))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
