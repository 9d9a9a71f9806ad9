"""Files that people send: read by the same rules as files on disk, under a name of our own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from kleene.data.files import read_examples
from kleene.data.lines import GZIP_MAGIC
from kleene.errors import DataError
from kleene.machine import Word
from kleene.web.entries import Entry
from kleene.web.guard import Limits, RefusedError
from kleene.web.parse import parse_word

MOST = 50_000  # words of a file


def read_upload(
    content: bytes, entry: Entry, text_column: str | None, limits: Limits
) -> tuple[list[str], list[Word]]:
    """The texts of a file and the words they are, or an error that names the line."""
    if content[:2] == GZIP_MAGIC:
        raise DataError("the file is packed with gzip; send it unpacked")
    with tempfile.TemporaryDirectory(prefix="kleene-") as folder:
        path = Path(folder) / "upload"  # nothing of the request becomes part of a path
        path.write_bytes(content)
        texts: list[str] = []
        words: list[Word] = []
        try:
            for example in read_examples(path, text_column=text_column, labelled=False):
                word = parse_word(entry, _given(example.word))
                if len(word) > limits.length:
                    came = f"line {example.line}: {len(word):,} symbols"
                    raise RefusedError(413, f"{came}, {limits.length:,} are allowed; cut the word")
                words.append(word)
                texts.append(example.word if isinstance(example.word, str) else repr(example.word))
                if len(words) > MOST:
                    raise RefusedError(
                        413, f"more than {MOST:,} words came; send the file in parts"
                    )
        except DataError as error:
            raise DataError(str(error).replace(str(path), "the file")) from None
    return texts, words


def _given(word: Any) -> Any:
    return word if isinstance(word, str) else list(word)
