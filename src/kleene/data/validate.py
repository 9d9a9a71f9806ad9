"""Words and labels as a user hands them in, made uniform."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.data.alphabet import UNKNOWN, Alphabet
from kleene.data.tokenize import split
from kleene.errors import DataError, SettingError
from kleene.machine import Label, Symbol, Word

TOKENS = ("chars", "words", "text", "symbols")


def as_words(X: Sequence[Any], tokens: str | None = None) -> tuple[list[Word], str]:
    """The given texts or sequences as words, and how they were split."""
    if isinstance(X, str):
        raise DataError("one string came, needed is a list of words; give [word]")
    texts = _listed(X, "words")
    if not texts:
        raise DataError("no words came; give at least one word of each class")
    strings = all(isinstance(text, str) for text in texts)
    if tokens is None:
        spaced = strings and any(len(text.split(maxsplit=1)) > 1 for text in texts)
        tokens = "words" if spaced else "chars" if strings else "symbols"
    if tokens not in TOKENS:
        raise SettingError(f"tokens={tokens!r} came, choose one of {', '.join(TOKENS)}")
    return [split(text, tokens) for text in texts], tokens


def as_classes(
    words: Sequence[Word], y: Sequence[Label]
) -> tuple[NDArray[np.int64], tuple[Label, ...]]:
    """Labels as numbers, and what the numbers stand for."""
    labels = as_labels(y)
    if len(labels) != len(words):
        raise DataError(f"{len(words)} words and {len(labels)} labels came; give one label a word")
    classes = sorted_classes(labels)
    numbers = {label: i for i, label in enumerate(classes)}
    return np.array([numbers[label] for label in labels], dtype=np.int64), classes


def sorted_classes(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The different labels, of which there must be two."""
    found = set(labels)
    try:
        classes = tuple(sorted(found))  # type: ignore[type-var]
    except TypeError:
        classes = tuple(sorted(found, key=lambda label: (type(label).__name__, str(label))))
    if len(classes) < 2:
        raise DataError(
            f"all words are of one class, {classes[0]!r:.60}; a classifier needs words of two"
        )
    return classes


def as_labels(y: Sequence[Label]) -> list[Label]:
    """Labels as plain Python values."""
    given = _listed(y, "labels")
    labels = [label.item() if isinstance(label, np.generic) else label for label in given]
    for label in labels:
        try:
            hash(label)
        except TypeError:
            kind = type(label).__name__
            raise DataError(
                f"the label {label!r:.40} of type {kind} came; give one string, number, boolean or "
                "tuple a word"
            ) from None
        if label != label:
            raise DataError("a label is NaN; leave out words without a label")
    return labels


def _listed(values: Any, what: str) -> list[Any]:
    """Whatever holds one entry a word, as a list: the rows of a matrix or a data frame, too."""
    if hasattr(values, "tocsr"):
        raise DataError(f"sparse {what} came, needed is a list; sparse matrices are not supported")
    if hasattr(values, "__array__"):
        values = np.asarray(values)
    if not hasattr(values, "__iter__") or getattr(values, "ndim", 1) == 0:
        raise DataError(f"{what} came as {values!r:.40}, needed is a list with an entry a word")
    return list(values)


@dataclass(frozen=True)
class UnknownSymbols:
    """How many symbols of some words an alphabet does not have."""

    symbols: int = 0
    words: int = 0
    example: Symbol = None

    @classmethod
    def among(
        cls, alphabet: Alphabet, words: Sequence[Word], encoded: Sequence[NDArray[np.int64]]
    ) -> UnknownSymbols:
        """Count them in words and their encodings."""
        counts = np.array([(ids == UNKNOWN).sum() for ids in encoded], dtype=np.int64)
        where = np.flatnonzero(counts)
        if not len(where):
            return cls()
        example = alphabet.unknown(words[where[0]])[0]
        return cls(int(counts.sum()), len(where), example)

    def __bool__(self) -> bool:
        return self.symbols > 0

    def __add__(self, other: UnknownSymbols) -> UnknownSymbols:
        example = self.example if self else other.example
        return UnknownSymbols(self.symbols + other.symbols, self.words + other.words, example)

    def __str__(self) -> str:
        symbols = "1 symbol" if self.symbols == 1 else f"{self.symbols:,} symbols"
        words = "1 example" if self.words == 1 else f"{self.words:,} examples"
        return (
            f"{symbols} in {words} not in the alphabet of the model, such as {self.example!r}; "
            "read as unknown"
        )
