"""Examples from files: TSV, CSV, JSONL, Parquet, event tables and XES logs, streamed.

Every error names the file and the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from kleene.data.bins import as_numbers
from kleene.data.events import event_examples
from kleene.data.layout import LABEL_NAMES, NO_LAYOUT, TEXT_NAMES, Example, Layout
from kleene.data.lines import Lines
from kleene.data.tables import (
    Table,
    csv_table,
    guess_delimiter,
    jsonl_table,
    parquet_table,
    tsv_table,
)
from kleene.data.words import (
    Words,
    as_word,
    check_tokens,
    guess_tokens,
    json_word,
    typed_labels,
    without_surrogates,
)
from kleene.data.xes import xes_examples
from kleene.errors import DataError
from kleene.machine import Label, Word, is_missing

FORMATS = {".tsv": "tsv", ".txt": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
FORMATS |= {".parquet": "parquet", ".xes": "xes"}
PROGRESS_ROWS = 1000
Progress = Callable[[int, float | None], None]
"""Takes the number of examples read so far and the share of the file, where it is known."""


@dataclass(frozen=True, kw_only=True)
class Data:
    """All examples of a file.

    `tokens` says how texts became words: "chars", "words" (split at white space), "text" (lower
    case, punctuation apart), or "symbols" where the file holds lists or events. `labels` are
    numbers or truth values where all of them are such, and None when no example has one. `layout`
    names the columns that they were found in.
    """

    words: Words
    labels: list[Label | None] | None
    tokens: str
    guessed: bool
    layout: Layout


def read_data(
    path: str | Path,
    layout: Layout = NO_LAYOUT,
    *,
    tokens: str | None = None,
    labelled: bool = True,
    progress: Progress | None = None,
) -> Data:
    """Read a whole file.

    Unless `tokens` ("chars", "words" or "text") says how texts are split, prose is split into words
    and punctuation marks, other texts with white space are split there, the rest into characters.
    """
    found, stream = open_examples(path, layout, labelled=labelled, progress=progress)
    words: list[Word] = []
    labels: list[Label | None] = []
    for example in stream:  # without keeping the rows, which would double the memory
        words.append(example.word)
        labels.append(example.label)
    used = check_tokens(tokens) or guess_tokens(words)
    if not isinstance(words[0], str):
        used, tokens = "symbols", "symbols"
    return Data(
        words=Words((as_word(word, used, typed=True) for word in words), used),
        labels=typed_labels(labels) if any(label is not None for label in labels) else None,
        tokens=used,
        guessed=tokens is None,
        layout=found,
    )


def read_examples(path: str | Path, layout: Layout = NO_LAYOUT, **how: Any) -> Iterator[Example]:
    """The examples of a file one by one; see `open_examples`."""
    return open_examples(path, layout, **how)[1]


def open_examples(
    path: str | Path,
    layout: Layout = NO_LAYOUT,
    *,
    tokens: str | None = None,
    labelled: bool = True,
    progress: Progress | None = None,
) -> tuple[Layout, Iterator[Example]]:
    """The layout that a file turned out to have, and its examples one by one.

    `-` is standard input, gz files are decompressed. The ending tells the format, else the first
    line does. TSV is `word<TAB>label`, CSV has a header, JSONL is an object a line. Texts stay
    unsplit unless `tokens` says how to split them. Without `labelled`, labels may be missing and a
    TSV may have words only, one a line, an empty line being the empty word. `progress` is called
    now and then.
    """
    check_tokens(tokens)
    lines = Lines(path)
    try:
        found, examples = _read(lines, layout, labelled)
    except BaseException:
        lines.close()
        raise

    def finished() -> Iterator[Example]:
        count = 0
        try:
            for example in examples:
                count += 1
                if progress is not None and count % PROGRESS_ROWS == 0:
                    progress(count, lines.share)
                try:
                    word = as_word(example.word, tokens, found.bins, typed=True)
                except DataError as error:
                    raise lines.error(str(error), example.line) from None
                yield example if word is example.word else Example(word, *example[1:])
        finally:
            lines.close()
        if not count:
            raise DataError(f"{lines.name} has no examples; give at least one after any header")

    return found, finished()


def fit_bins(path: str | Path, layout: Layout) -> Layout:
    """The layout with the edges of its bins found from the numbers of a file."""
    if layout.bins is None or layout.bins.is_fitted:
        return layout
    lines = Lines(path)

    def numbers() -> Iterator[list[float]]:
        for example in read_examples(path, replace(layout, bins=None), labelled=False):
            try:
                yield as_numbers(example.word)
            except DataError as error:
                raise lines.error(str(error), example.line) from None

    return replace(layout, bins=layout.bins.fit(numbers()))


def _read(lines: Lines, layout: Layout, labelled: bool) -> tuple[Layout, Iterator[Example]]:
    kind = FORMATS.get(lines.suffix)
    if kind == "xes":
        return xes_examples(lines, layout, labelled)
    if kind == "parquet":
        table = parquet_table(lines)
    else:
        content = iter(lines)
        first = next(content, None)
        if first is None:
            raise DataError(f"{lines.name} is empty; give examples, such as word<TAB>label")
        kind = kind or _sniff(first, layout)
        content = chain([first], content)
        if kind == "jsonl":
            table = jsonl_table(lines, content)
        elif kind == "tsv" and not _is_table(first, layout):
            return _examples(tsv_table(lines, content, labelled), layout, labelled)
        else:
            guessed = "\t" if kind == "tsv" else guess_delimiter(first)
            table = csv_table(lines, content, layout.delimiter or guessed)
    layout = layout.resolve(table.header)
    read = event_examples if layout.has_events else _examples
    return read(table, layout, labelled)


def _examples(table: Table, layout: Layout, labelled: bool) -> tuple[Layout, Iterator[Example]]:
    """The examples of a table with one sequence a row, and the columns that hold them."""
    text = table.column(layout.text_column, TEXT_NAMES, "text")
    label = table.column(layout.label_column, LABEL_NAMES, "label")
    unknown = text is None or (labelled and label is None)
    if unknown:
        text, found = table.by_content(text, label)
        label = found if labelled else label
    at = table.need(text, "text")
    label = table.need(label, "label") if labelled else label
    names = [table.name(i) for i in range(len(table.header))]
    if table.is_named:
        layout = replace(
            layout,
            text_column=names[at],
            label_column=None if label is None else names[label],
            delimiter=table.delimiter,
            by_content=unknown,
        )

    def missing(column: int, line: int) -> DataError:
        what = "text" if column == at else "label"
        problem = f"the {what} in {names[column]!r} is missing; fill it in or remove the row"
        return table.error(problem, line)

    def label_of(row: Any, line: int) -> Label | None:
        value = None if label is None else row[label]
        if isinstance(value, list | tuple | dict):
            needed = "a label must be a string, number or boolean"
            raise table.error(f"{needed}, got {value!r:.40}", line)
        value = value.strip() if isinstance(value, str) else value
        if is_missing(value) or value == "":
            if labelled and label is not None:
                raise missing(label, line)
            return None
        return without_surrogates(value)  # type: ignore[no-any-return]

    def examples() -> Iterator[Example]:
        kind: type | None = None
        for line, row in table.rows:
            if is_missing(row[at]) or (row[at] == "" and not table.keeps_empty):
                raise missing(at, line)
            try:
                word = json_word(row[at])
            except DataError as error:
                raise table.error(str(error), line) from None
            kind = kind or type(word)
            if type(word) is not kind:
                raise table.error("sequences must be all texts or all lists, got both", line)
            columns = dict(zip(names, row, strict=True))
            yield Example(word, label_of(row, line), line, row=columns)

    return layout, examples()


def _is_table(first: str, layout: Layout) -> bool:
    """Whether a file of lines with tabs has a header that names its columns."""
    names = first.lower().split("\t")
    named = layout.names_columns or layout.delimiter is not None
    return named or (len(names) > 2 and len({*TEXT_NAMES, *LABEL_NAMES}.intersection(names)) > 1)


def _sniff(first: str, layout: Layout) -> str:
    """The format by the first line: an object, a CSV header that names columns, or else TSV."""
    if first.lstrip().startswith("{"):
        return "jsonl"
    if layout.delimiter is not None:
        return "csv"
    names = {name.strip().strip('"').lower() for name in first.split(guess_delimiter(first))}
    known = len(names) > 1 and names & {*TEXT_NAMES, *LABEL_NAMES}
    return "csv" if "\t" not in first and (layout.names_columns or known) else "tsv"
