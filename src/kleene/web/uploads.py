"""Uploaded files: read by the same rules as files on disk, answered as CSV."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from kleene.data.files import read_examples
from kleene.data.layout import Layout
from kleene.data.readers.lines import GZIP_MAGIC
from kleene.errors import DataError
from kleene.machine import Word
from kleene.web.entries import Answer, Entry
from kleene.web.http.limits import Limits, RefusedError
from kleene.web.parse import parse_word

SLICE = 200  # lines that are read or written before others have their turn
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # how a cell begins that a spreadsheet may run
UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {"text/plain": {"schema": {"type": "string", "minLength": 1}}},
    },
    "responses": {"200": {"description": "CSV", "content": {"text/csv": {}}}},
}


def read_upload(
    content: bytes, entry: Entry, text_column: str | None, limits: Limits
) -> Generator[None, None, tuple[list[str], list[Word]]]:
    """The texts of a file and their words, or an error that names the line; yields in between."""
    if content[:2] == GZIP_MAGIC:
        raise DataError("the file is packed with gzip; send it unpacked")
    texts: list[str] = []
    words: list[Word] = []
    with tempfile.TemporaryDirectory(prefix="kleene-") as folder:
        name = "upload.csv" if text_column is None and _is_table(content) else "upload"
        path = Path(folder) / name  # nothing of the request becomes part of a path
        path.write_bytes(content)
        try:
            layout = Layout(text_column=text_column).or_else(entry.layout)
            for example in read_examples(path, layout, labelled=False):
                binned = entry.layout.bins is not None  # then these are the symbols already
                word = example.word if binned else parse_word(entry, _plain(example.word))
                if len(word) > limits.length:
                    most = f"a word must have at most {limits.length:,} symbols"
                    raise RefusedError(413, f"line {example.line}: {most}, got {len(word):,}")
                words.append(word)
                if len(words) % SLICE == 0:
                    yield
                texts.append(example.word if isinstance(example.word, str) else repr(example.word))
                if len(words) > limits.lines:
                    most = f"a file must have at most {limits.lines:,} words"
                    raise RefusedError(413, f"{most}; send it in parts")
        except DataError as error:
            reason = str(error).replace(str(path), "the file")
            raise DataError(reason.replace("--text-column", "?text_column=")) from None
    return texts, words


def as_csv(
    texts: Sequence[str], answers: Sequence[Answer], *, escape: bool = True
) -> Generator[None, None, str]:
    """The words and their predictions; with `escape`, no cell is a formula. Yields in between."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["word", "prediction", "probability"])
    for i, (text, answer) in enumerate(zip(texts, answers, strict=True), 1):
        sure = max(answer.probabilities.values()) if answer.probabilities else ""
        cells = [text, str(answer.label)]
        writer.writerow([*(map(_inert, cells) if escape else cells), str(sure)])
        if i % SLICE == 0:
            yield
    return out.getvalue()


def _inert(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def _is_table(content: bytes) -> bool:
    """Whether the first line must be the header of a CSV, even where none of its names is known.

    Lines with the same number of commas are a table; commas with a space behind them are prose.
    """
    lines = content[:65536].decode("utf-8", "replace").splitlines()[:5]
    if len(lines) < 2 or any("\t" in line or ", " in line or line[:1] in "{[" for line in lines):
        return False
    return len({line.count(",") for line in lines}) == 1 and "," in lines[0]


def _plain(word: Any) -> Any:
    return word if isinstance(word, str) else list(word)
