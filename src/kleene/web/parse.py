"""Words as requests bring them: texts, or lists of symbols."""

from __future__ import annotations

from typing import Any

from kleene.data.words import as_word, json_word
from kleene.errors import DataError
from kleene.machine import Word
from kleene.web.entries import Entry

MAX_NESTING = 4  # lists in lists in a symbol


def parse_word(entry: Entry, value: Any) -> Word:
    """The word that a value stands for: a text, split as the model does, or a list of symbols.

    A model that was trained on binned numbers takes numbers.
    """
    if _is_deeper(value, MAX_NESTING + 1):
        raise DataError(f"a symbol must be nested at most {MAX_NESTING} deep")
    word: Word = as_word(json_word(value), entry.tokens, entry.layout.bins, typed=True)
    return word


def _is_deeper(value: Any, depth: int) -> bool:
    if not isinstance(value, list):
        return False
    return depth == 0 or any(_is_deeper(part, depth - 1) for part in value)
