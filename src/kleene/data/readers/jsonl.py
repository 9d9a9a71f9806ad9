"""Examples from JSON lines: an object each, with a sequence (a text or a list) and a label."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from kleene.data.example import Example
from kleene.data.layout import Layout
from kleene.data.missing import is_missing
from kleene.data.readers.lines import Lines
from kleene.data.readers.tables import LABEL_NAMES, TEXT_NAMES, Table, missing_text
from kleene.data.words import json_word, without_surrogates
from kleene.errors import DataError


def jsonl_examples(
    lines: Lines, content: Iterator[str], layout: Layout, labelled: bool
) -> tuple[Layout, Iterator[Example]]:
    """The examples, and the keys that hold them: those named, or the usual ones."""
    objects = ((_object(lines, line), lines.number) for line in content if line.strip())
    begin = next(objects, None)
    if begin is None:
        return layout, iter(())
    keys = Table(source=lines.name, header=list(begin[0]), rows=iter(()))
    layout = layout.resolve(keys.header)
    text = keys.header[keys.column(layout.text_column, TEXT_NAMES, "text")]
    label = layout.label_column
    usual = [key for key in keys.header if key.lower() in LABEL_NAMES]
    if label is None and (labelled or usual):
        label = keys.header[keys.column(None, LABEL_NAMES, "label")]
    label = label or "label"  # which later objects may have
    found = replace(layout, text_column=text, label_column=label)

    def examples() -> Iterator[Example]:
        kind: type | None = None
        for record, number in chain([begin], objects):
            value = record.get(text)
            if is_missing(value):
                raise lines.error(missing_text(text), number)
            try:
                word = json_word(value)
            except DataError as error:
                raise lines.error(str(error), number) from None
            kind = kind or type(word)
            if type(word) is not kind:
                raise lines.error("sequences must be all texts or all lists, got both", number)
            yield Example(word, _label(lines, record, label, labelled), number, row=record)

    return found, examples()


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


def _label(lines: Lines, record: dict[str, Any], key: str | None, labelled: bool) -> Any:
    found = None if key is None else record.get(key)
    if isinstance(found, list | dict):
        raise lines.error(f"a label must be a string, number or boolean, got {found!r:.40}")
    if is_missing(found) and labelled:
        keys = ", ".join(map(repr, record)) or "none"
        raise lines.error(f"the label in {key!r} is missing, the keys are {keys[:80]}; add it")
    return None if is_missing(found) else without_surrogates(found)
