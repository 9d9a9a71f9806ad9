"""What requests hold: JSON, as the OpenAPI document describes it, and uploaded files.

A word is any plain value here; `kleene.data.words` checks it. A union type per symbol would keep
an error for every member of the union and every symbol, and a small request could fill the memory.
"""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from kleene.data.files import read_examples
from kleene.data.layout import Layout
from kleene.data.lines import GZIP_MAGIC
from kleene.data.words import as_word, json_word
from kleene.errors import DataError
from kleene.explain.markup import as_json
from kleene.files import without_formula
from kleene.machine import Label, Word, label_texts
from kleene.web.background import check
from kleene.web.limits import Limits, RefusedError
from kleene.web.models import Answer, Served

MAX_DEPTH = 4  # of lists in a symbol
MODEL = Field(default=None, max_length=200, description="Which model; the first if left out.")


class Form(BaseModel):
    """A request; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PredictForm(Form):
    """Words to label."""

    words: list[Any] = Field(description="Texts, or lists of symbols.", examples=[["0110"]])
    model: str | None = MODEL


class ExplainForm(Form):
    """A word to explain."""

    word: Any = Field(description="A text, or a list of symbols.", examples=["0110"])
    model: str | None = MODEL


def to_words(entry: Served, values: Sequence[Any], limits: Limits) -> list[Word]:
    """The words of a request, if they are neither too many nor too long."""
    if len(values) > limits.words:
        got = f"got {len(values):,}; send fewer at a time, or a file"
        raise RefusedError(413, f"a request must have at most {limits.words:,} words, {got}")
    words: list[Word] = []
    total = 0
    for value in values:
        if isinstance(value, list):
            _check_length(len(value), limits)
        words.append(_to_word(entry, value))
        _check_length(len(words[-1]), limits)
        total += len(words[-1])
        if total > limits.symbols:
            most = f"{limits.symbols:,} symbols in all"
            raise RefusedError(413, f"a request must have at most {most}; send fewer at a time")
    return words


def read_upload(
    content: bytes, entry: Served, text_column: str | None, limits: Limits
) -> tuple[list[str], list[Word]]:
    """The texts of a file and their words, or an error that names the line."""
    if content[:2] == GZIP_MAGIC:
        raise DataError("the file is compressed with gzip; send it unpacked")
    texts: list[str] = []
    words: list[Word] = []
    with tempfile.TemporaryDirectory(prefix="kleene-") as folder:
        name = "upload.csv" if text_column is None and _is_table(content) else "upload"
        path = Path(folder) / name  # no part of the request becomes part of a path
        path.write_bytes(content)
        try:
            layout = Layout(text_column=text_column).or_else(entry.layout)
            for example in read_examples(path, layout, labelled=False):
                check()
                text = word = example.word
                if entry.layout.bins is None:  # otherwise these are the symbols already
                    word = _to_word(entry, text if isinstance(text, str) else list(text))
                _check_length(len(word), limits, f"line {example.line}: ")
                words.append(word)
                texts.append(text if isinstance(text, str) else repr(text))
                if len(words) > limits.lines:
                    most = f"a file must have at most {limits.lines:,} words"
                    raise RefusedError(413, f"{most}; send it in parts")
        except DataError as error:
            told = str(error).replace(str(path), "the file").replace("--text-column", "text_column")
            raise DataError(told) from None
    return texts, words


def as_csv(texts: Sequence[str], answers: Sequence[Answer], labels: Sequence[Label]) -> str:
    """The words and their predictions; no cell is a formula that a spreadsheet would run."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["word", "prediction", "probability"])
    names = dict(zip(map(repr, map(as_json, labels)), label_texts(labels), strict=True))
    for text, answer in zip(texts, answers, strict=True):
        cells = [text, names[repr(answer.label)], str(max(answer.probabilities.values()))]
        writer.writerow(map(without_formula, cells))
    return out.getvalue()


def _to_word(entry: Served, value: Any) -> Word:
    """The word of a model that a text or a list of symbols stands for."""
    if _is_deeper(value, 1 + MAX_DEPTH):
        raise DataError(f"a symbol must have at most {MAX_DEPTH} lists in lists, got a deeper one")
    word: Word = as_word(json_word(value), entry.tokens, entry.layout.bins, typed=True)
    return word


def _is_deeper(value: Any, depth: int) -> bool:
    return isinstance(value, list) and (
        depth == 0 or any(_is_deeper(part, depth - 1) for part in value)
    )


def _check_length(length: int, limits: Limits, where: str = "") -> None:
    if length > limits.length:
        most = f"a word must have at most {limits.length:,} symbols"
        raise RefusedError(413, f"{where}{most}, got {length:,}")


def _is_table(content: bytes) -> bool:
    """Whether the first line must be the header of a CSV, even if none of its names is known.

    Lines with the same number of commas are a table; commas with a space behind them are prose.
    """
    lines = content[:65536].decode("utf-8", "replace").splitlines()[:5]
    if len(lines) < 2 or any("\t" in line or ", " in line or line[:1] in "{[" for line in lines):
        return False
    return len({line.count(",") for line in lines}) == 1 and "," in lines[0]
