"""Words as requests bring them: texts, or lists of symbols."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from kleene.data.tokenize import split
from kleene.errors import DataError
from kleene.machine import Word
from kleene.web.entries import Entry


def parse_word(entry: Entry, word: Any) -> Word:
    """A word as it came: a text, split as the entry reads texts, or a list of symbols."""
    if isinstance(word, str):
        text = _whole(word)
        if entry.tokens == "symbols" and text.lstrip().startswith("["):
            try:
                return parse_word(entry, json.loads(text))
            except (ValueError, RecursionError):
                raise DataError(f"{text[:40]!r} is no JSON list of symbols; close it") from None
        return split(text, "words" if entry.tokens == "symbols" else entry.tokens)
    if not isinstance(word, list):
        raise DataError("a word is a text or a list of symbols")
    symbols = tuple(_symbol(part) for part in word)
    if entry.tokens == "chars" and all(isinstance(s, str) and len(s) == 1 for s in symbols):
        return "".join(map(str, symbols))
    return symbols


def _symbol(value: Any, depth: int = 0) -> Any:
    if isinstance(value, list) and depth < 4:
        return tuple(_symbol(part, depth + 1) for part in value)
    if isinstance(value, str):
        return _whole(value)
    if (
        value is None
        or isinstance(value, bool | int)
        or (isinstance(value, float) and isfinite(value))
    ):
        return value
    raise DataError("a symbol is a text, a finite number, true, false, null, or a list of these")


def _whole(text: str) -> str:
    """A text without lone surrogates, which JSON can spell and no answer can hold."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
