"""Examples from files: TSV, CSV and JSONL, streamed, with the line number in every error."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from kleene.data.alphabet import from_json_symbol
from kleene.data.lines import MAX_LINE, Lines
from kleene.data.tokenize import split
from kleene.errors import AlphabetError, DataError, SettingError
from kleene.machine import Label, Word

FORMATS = {".tsv": "tsv", ".txt": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
TEXT_NAMES = ("sequence", "word", "text", "sentence", "review", "document", "comment", "content")
LABEL_NAMES = ("label", "class", "category", "sentiment", "target", "output")
TOKENS = ("chars", "words", "text")


@dataclass(frozen=True)
class Example:
    """A word, its label if it has one, and the line it begins on."""

    word: Word
    label: Label | None
    line: int


@dataclass(frozen=True, kw_only=True)
class Data:
    """All examples of a file.

    `tokens` says how texts became words: "chars", "words" (split at white space), or "symbols"
    where the file holds lists. `labels` is None when no example has one.
    """

    words: list[Word]
    labels: list[Label | None] | None
    tokens: str
    guessed: bool


def read_data(
    path: str | Path,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    tokens: str | None = None,
    labelled: bool = True,
) -> Data:
    """Read a whole file; texts with white space are split there, others into characters.

    Give `tokens` ("chars", "words", or "text" for lower case and punctuation apart) to settle this
    without a guess.
    """
    examples = list(
        read_examples(path, text_column=text_column, label_column=label_column, labelled=labelled)
    )
    words = [example.word for example in examples]
    labels = [example.label for example in examples]
    used = _checked_tokens(tokens) or guess_tokens(words)
    if not isinstance(words[0], str):
        used, tokens = "symbols", "symbols"
    return Data(
        words=[split(word, used) for word in words],
        labels=labels if any(label is not None for label in labels) else None,
        tokens=used,
        guessed=tokens is None,
    )


def read_examples(
    path: str | Path,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    tokens: str | None = None,
    labelled: bool = True,
) -> Iterator[Example]:
    """The examples of a file one by one; `-` is standard input, gz files are decompressed.

    The ending tells the format, else the first line does. TSV is `word<TAB>label`, CSV has a
    header, JSONL objects have "sequence" and "label"; the columns name other headers or keys.
    Words stay whole texts unless `tokens` says how to split them. Without `labelled`, labels may
    be missing and a TSV may have words only, one a line, an empty line being the empty word.
    """
    _checked_tokens(tokens)
    lines = Lines(path)
    content = iter(lines)
    first = next(content, None)
    if first is None:
        raise DataError(f"{lines.name} is empty; give examples, such as lines of word<TAB>label")
    kind = FORMATS.get(lines.suffix) or _sniff(first, text_column or label_column)
    reader = {"tsv": _read_tsv, "csv": _read_csv, "jsonl": _read_jsonl}[kind]
    count = 0
    for example in reader(lines, chain([first], content), text_column, label_column, labelled):
        count += 1
        yield Example(split(example.word, tokens), example.label, example.line)
    if not count:
        raise DataError(f"{lines.name} has no examples; give at least one after any header")


def guess_tokens(words: Iterable[Word]) -> str:
    """Guess "words" when some text has white space in it, else "chars"."""
    texts = (word for word in words if isinstance(word, str))
    return "words" if any(len(text.split(maxsplit=1)) > 1 for text in texts) else "chars"


def _read_tsv(
    lines: Lines, content: Iterator[str], text: str | None, label: str | None, labelled: bool
) -> Iterator[Example]:
    if text or label:
        raise lines.error("column names are for CSV and JSONL, but this is TSV; leave them out")
    width = 0
    for line in content:
        columns = line.split("\t")
        if not line and width != 1 and (labelled or width):
            continue  # where every word has a label, an empty line is no word
        if len(columns) > 2 or (labelled and len(columns) < 2):
            tabs = f"{len(columns) - 1} tabs in {line[:40]!r}"
            raise lines.error(f"{tabs}, where word<TAB>label has 1; put one tab between the two")
        if width and len(columns) != width:
            raise lines.error(f"{len(columns)} columns after lines of {width}; give all as many")
        if not width and _is_header(columns):
            width = len(columns)
            continue
        width = len(columns)
        found = columns[1].strip() if width == 2 else ""
        if labelled and not found:
            raise lines.error(f"the label of {columns[0][:40]!r} is missing; put it after the tab")
        yield Example(columns[0], found or None, lines.number)


def _read_csv(
    lines: Lines, content: Iterator[str], text: str | None, label: str | None, labelled: bool
) -> Iterator[Example]:
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))  # the csv module has only a global
    rows = csv.reader((line + "\n" for line in content), strict=True)
    begin = 1
    try:
        header = [name.strip() for name in next(rows)]
        at = _column(lines, header, text, TEXT_NAMES, "text")
        label_at = None
        if labelled or label or any(name.lower() in LABEL_NAMES for name in header):
            label_at = _column(lines, header, label, LABEL_NAMES, "label")
        begin = lines.number + 1
        for row in rows:
            if row:
                if len(row) != len(header):
                    came = f"{len(row)} columns, but the header has {len(header)}"
                    raise lines.error(f"{came}; quote texts that contain commas", begin)
                found = "" if label_at is None else row[label_at].strip()
                if labelled and not found:
                    name = header[label_at or 0]
                    raise lines.error(f"no label in column {name!r}; fill it in", begin)
                yield Example(row[at], found or None, begin)
            begin = lines.number + 1
    except csv.Error as error:
        message = f"this is no CSV record ({error}); close quotes, double those inside a text"
        raise lines.error(message, begin) from None


def _read_jsonl(
    lines: Lines, content: Iterator[str], text: str | None, label: str | None, labelled: bool
) -> Iterator[Example]:
    text, label = text or "sequence", label or "label"
    kind: type | None = None
    for line in content:
        if not line.strip():
            continue
        record = _json_object(lines, line)
        for key in [text, label] if labelled else [text]:
            if record.get(key) is None:
                keys = ", ".join(map(repr, record)) or "none"
                raise lines.error(f"no value for {key!r}, the keys are {keys[:80]}; add it")
        word = _json_word(lines, record[text])
        kind = kind or type(word)
        if type(word) is not kind:
            raise lines.error("texts and lists are mixed as sequences; make all of one kind")
        found = record.get(label)
        if isinstance(found, list | dict) or found != found:
            raise lines.error(f"the label is {found!r:.40}; make it a string, number or boolean")
        yield Example(word, _whole(found), lines.number)


def _json_object(lines: Lines, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except RecursionError:
        raise lines.error("JSON nested too deep; give flat sequences") from None
    except ValueError as error:
        message = f"{line[:40]!r} is no JSON ({error}); give one object a line"
        raise lines.error(message) from None
    if not isinstance(record, dict):
        kind = type(record).__name__
        message = f'a JSON {kind}, not an object; give {{"sequence": ..., "label": ...}} a line'
        raise lines.error(message)
    return record


def _json_word(lines: Lines, sequence: Any) -> Word:
    if isinstance(sequence, str):
        return str(_whole(sequence))
    if not isinstance(sequence, list):
        raise lines.error(f"the sequence is {sequence!r:.40}; make it a string or a list")
    try:
        return tuple(_whole(from_json_symbol(symbol)) for symbol in sequence)
    except AlphabetError as error:
        raise lines.error(str(error)) from None


def _whole(value: Any) -> Any:
    """A string without lone surrogates, which JSON can spell and no file or terminal can hold."""
    if isinstance(value, tuple):
        return tuple(map(_whole, value))
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _column(
    lines: Lines, header: list[str], name: str | None, usual: tuple[str, ...], role: str
) -> int:
    """The place of the column called `name`, or else of the only one with a usual name."""
    places = [i for i, column in enumerate(header) if column == name]
    if name is None:
        places = [i for i, column in enumerate(header) if column.lower() in usual]
    if len(places) == 1:
        return places[0]
    problem = f"cannot tell the {role} column"
    if name is not None:
        problem = f"{'several columns' if places else 'no column'} {name!r}"
    columns = ", ".join(map(repr, header))[:200]
    raise lines.error(f"{problem} among {columns}; name one of them with --{role}-column", 1)


def _is_header(columns: list[str]) -> bool:
    names = (TEXT_NAMES, LABEL_NAMES)
    return len(columns) == 2 and all(c.lower() in n for c, n in zip(columns, names, strict=True))


def _sniff(first: str, columns: str | None) -> str:
    """The format by the first line: an object, a CSV header that names columns, or else TSV."""
    if first.lstrip().startswith("{"):
        return "jsonl"
    names = {name.strip().strip('"').lower() for name in first.split(",")}
    if "\t" not in first and (columns or (len(names) > 1 and names & {*TEXT_NAMES, *LABEL_NAMES})):
        return "csv"
    return "tsv"


def _checked_tokens(tokens: str | None) -> str | None:
    if tokens is not None and tokens not in TOKENS:
        raise SettingError(f"tokens is {tokens!r}; choose {' or '.join(TOKENS)}")
    return tokens
