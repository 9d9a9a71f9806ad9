"""Words as requests bring them: texts, or lists of symbols."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from kleene.data.bins import as_numbers
from kleene.data.tokenize import split
from kleene.errors import DataError
from kleene.machine import Word
from kleene.web.entries import Entry

DEEPEST = 4  # lists in lists in a symbol


def parse_word(entry: Entry, value: Any) -> Word:
    """The word that a value stands for: a text, split as the model does, or a list of symbols.

    A model that was trained on binned numbers takes numbers.
    """
    bins = entry.layout.bins
    if bins is not None and isinstance(value, str | list):
        return bins.symbols(as_numbers(value)) if value else ()
    if isinstance(value, str):
        text = without_surrogates(value)
        if entry.tokens == "symbols" and text.lstrip().startswith("["):
            try:
                return parse_word(entry, json.loads(text))
            except (ValueError, RecursionError):
                raise DataError(
                    f"a text that begins with [ must be a JSON list, got {text[:40]!r}"
                ) from None
        return split(text, "words" if entry.tokens == "symbols" else entry.tokens)
    if not isinstance(value, list):
        raise DataError(f"a word must be a text or a list of symbols, got {_kind(value)}")
    symbols = tuple(_symbol(part) for part in value)
    if entry.tokens == "chars" and all(isinstance(s, str) and len(s) == 1 for s in symbols):
        return "".join(map(str, symbols))
    return symbols


def _symbol(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list) and depth < DEEPEST:
        return tuple(_symbol(part, depth + 1) for part in value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    raise DataError(
        "a symbol must be a text, a finite number, true, false, null, or a list of these at most "
        f"{DEEPEST} deep, got {_kind(value)}"
    )


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a deeper list", type(None): "null"}
    return kinds.get(type(value)) or f"the {type(value).__name__} {str(value)[:40]}"


def without_surrogates(text: str) -> str:
    """A text without lone surrogates, which JSON can spell and no answer can hold."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
