"""Words as requests bring them: texts, or lists of symbols."""

from __future__ import annotations

from typing import Any

from kleene.data.words import as_word, json_word
from kleene.machine import Word
from kleene.web.entries import Entry


def parse_word(entry: Entry, value: Any) -> Word:
    """The word that a value stands for: a text, split as the model does, or a list of symbols.

    A model that was trained on binned numbers takes numbers.
    """
    word: Word = as_word(json_word(value), entry.tokens, entry.layout.bins, typed=True)
    return word
