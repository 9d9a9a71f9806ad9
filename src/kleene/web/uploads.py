"""Uploaded files: read by the same rules as files on disk, answered as CSV."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kleene.data.files import read_examples
from kleene.data.layout import Layout
from kleene.data.lines import GZIP_MAGIC
from kleene.errors import DataError
from kleene.files import without_formula
from kleene.machine import Word
from kleene.web.background import check
from kleene.web.forms import check_length, to_word
from kleene.web.limits import Limits, RefusedError
from kleene.web.models import Answer, Entry

UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {"text/plain": {"schema": {"type": "string", "minLength": 1}}},
    },
    "responses": {"200": {"description": "CSV", "content": {"text/csv": {}}}},
}


def read_upload(
    content: bytes, entry: Entry, text_column: str | None, limits: Limits
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
                text = example.word
                if entry.layout.bins is None:  # otherwise these are the symbols already
                    word = to_word(entry, text if isinstance(text, str) else list(text))
                else:
                    word = text
                check_length(len(word), limits, f"line {example.line}: ")
                words.append(word)
                texts.append(text if isinstance(text, str) else repr(text))
                if len(words) > limits.lines:
                    most = f"a file must have at most {limits.lines:,} words"
                    raise RefusedError(413, f"{most}; send it in parts")
        except DataError as error:
            told = str(error).replace(str(path), "the file").replace("--text-column", "text_column")
            raise DataError(told) from None
    return texts, words


def as_csv(texts: Sequence[str], answers: Sequence[Answer], *, escape: bool = True) -> str:
    """The words and their predictions; with `escape`, no cell is a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["word", "prediction", "probability"])
    for text, answer in zip(texts, answers, strict=True):
        sure = max(answer.probabilities.values()) if answer.probabilities else ""
        cells = [text, str(answer.label)]
        writer.writerow([*(map(without_formula, cells) if escape else cells), str(sure)])
    return out.getvalue()


def _is_table(content: bytes) -> bool:
    """Whether the first line must be the header of a CSV, even if none of its names is known.

    Lines with the same number of commas are a table; commas with a space behind them are prose.
    """
    lines = content[:65536].decode("utf-8", "replace").splitlines()[:5]
    if len(lines) < 2 or any("\t" in line or ", " in line or line[:1] in "{[" for line in lines):
        return False
    return len({line.count(",") for line in lines}) == 1 and "," in lines[0]
