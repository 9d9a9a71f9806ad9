"""Check the sequences and labels that a user passes, and make them uniform."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.data.alphabet import UNKNOWN, Alphabet, as_sequence
from kleene.data.words import arrow_values, as_word, check_tokens, guess_tokens
from kleene.errors import DataError, DataWarning
from kleene.machine import Label, Symbol, Word, is_missing

MAX_FRACTIONS = 20
MISSING_TEXTS = ("nan", "null", "none", "na", "n/a")


def as_words(X: Sequence[Any], tokens: str | None = None) -> tuple[list[Word], str]:
    """The given texts or sequences as words, and how they were split.

    The words that `read_data` returned know how they were split.
    """
    if isinstance(X, str):
        raise DataError("expected a list of sequences, got one string; pass [sequence]")
    tokens = check_tokens(tokens) or getattr(X, "tokens", None)
    texts = _listed(X, "X")
    if not texts:
        raise DataError("X must hold at least one sequence, got none")
    if tokens is None:
        strings = all(isinstance(text, str) for text in texts)
        tokens = guess_tokens(texts) if strings else "symbols"
    return [as_word(text, tokens) for text in texts], tokens


def as_classes(
    words: Sequence[Word], y: Sequence[Label]
) -> tuple[NDArray[np.int64], tuple[Label, ...]]:
    """Labels as numbers, and what the numbers stand for; warns of what looks like a mistake."""
    labels = as_labels(y)
    warn_of_missing(labels)
    if len(labels) != len(words):
        found = f"{len(words)} examples and {len(labels)} labels"
        raise DataError(f"expected one label per example, got {found}")
    classes = sorted_classes(labels)
    check_repetition(len(classes), len(labels))
    numbers = {label: i for i, label in enumerate(classes)}
    encoded = np.array([numbers[label] for label in labels], dtype=np.int64)
    _warn_of_numbers(words)
    _warn_of_contradictions(words, encoded)
    return encoded, classes


def as_labels(y: Sequence[Label]) -> list[Label]:
    """Labels as plain Python values; measurements are refused."""
    labels = [label.item() if isinstance(label, np.generic) else label for label in _listed(y, "y")]
    for row, label in enumerate(labels):
        try:
            hash(label)
        except TypeError:
            kind = type(label).__name__
            raise DataError(
                f"a label must be a string, number, boolean or tuple, got {kind} {label!r:.40} in "
                f"row {row}"
            ) from None
        if isinstance(label, float) and not label.is_integer():
            raise DataError(
                f"labels must be classes, got the number {label!r} in row {row} (Unknown label "
                "type: continuous); bin the numbers into classes"
            )
    return labels


def sorted_classes(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The different labels, of which there must be two."""
    found = set(labels)
    try:
        classes = tuple(sorted(found))  # type: ignore[type-var]
    except TypeError:
        classes = tuple(sorted(found, key=lambda label: (type(label).__name__, str(label))))
    if len(classes) < 2:
        found_one = f"got only one class, {classes[0]!r:.60}"
        raise DataError(f"labels must be of at least two classes, {found_one}")
    return classes


def check_repetition(classes: int, examples: int) -> None:
    """Refuse labels of which no two are equal."""
    if classes == examples > 2:
        raise DataError(
            f"labels must be classes that repeat, got {classes} different ones for as many "
            "examples; check that they are not ids, texts or measurements"
        )


def warn_of_missing(labels: Iterable[Label]) -> None:
    """Warn of labels whose text says that there is none."""
    for label in sorted({label for label in labels if isinstance(label, str)}):
        if label.lower() in MISSING_TEXTS:
            cure = "remove its rows if it means that there is no label"
            _warn(f"the label {label!r} is taken as a class of its own; {cure}")


def _warn_of_numbers(words: Sequence[Word]) -> None:
    symbols = (symbol for word in words[:1000] if not isinstance(word, str) for symbol in word)
    measured = {s for s in symbols if isinstance(s, float) and not s.is_integer()}
    if len(measured) > MAX_FRACTIONS:
        _warn(
            f"X holds more than {MAX_FRACTIONS} different fractions such as "
            f"{next(iter(measured))!r}, and each becomes a symbol of its own; bin them first: "
            "kleene.data.Bins(count=8) in Python, --bins 8 on the command line"
        )


def _warn_of_contradictions(words: Sequence[Word], labels: NDArray[np.int64]) -> None:
    first: dict[Any, int] = {}
    contradicting: dict[Any, None] = {}  # in the order of the rows
    with suppress(TypeError):  # the alphabet will name the symbol that cannot be hashed
        for word, label in zip(words, labels.tolist(), strict=True):
            key = word if isinstance(word, str | tuple) else tuple(as_sequence(word))
            if first.setdefault(key, label) != label:
                contradicting[key] = None
    if contradicting:
        count, example = len(contradicting), next(iter(contradicting))
        some = f"{count} sequences have" if count > 1 else "one sequence has"
        _warn(f"{some} more than one label, such as {example!r:.60}; at most one can be learned")


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=4)


def _listed(values: Any, what: str) -> list[Any]:
    listed = _entries(values, what)
    for row, value in enumerate(listed):
        if is_missing(value):
            raise DataError(f"{what} has a missing value in row {row}; drop the row or fill it in")
    return listed


def _entries(values: Any, what: str) -> list[Any]:
    """The entries of arrays, Series, and columns that come by Arrow."""
    if hasattr(values, "tocsr"):
        raise DataError("sparse matrices are not supported; pass a list of sequences")
    names = getattr(values, "column_names", getattr(values, "columns", None))
    shape: tuple[int, ...] = tuple(getattr(values, "shape", ()))
    texts = isinstance(values, np.ndarray) and values.dtype.kind in "OU"
    relation = hasattr(values, "to_arrow_table")  # of DuckDB, a table even of one column
    if len(shape) == 2 and shape[1] == 1 and (names is not None or texts) and not relation:
        column = "[:, 0]" if names is None else f"[{str(next(iter(names)))!r}]"
        found = f"got a table of shape {shape}; pass {what}{column}"
        raise DataError(f"{what} must be one column, {found}")
    frame = len(shape) == 2 and shape[1] > 1 and hasattr(values, "__array__") and names is not None
    if frame and np.asarray(values).dtype.kind in "biuf":  # a row is a sequence of numbers
        return list(np.asarray(values))
    arrow = hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__")
    if arrow and find_spec("pyarrow"):
        from pyarrow import ArrowException

        with suppress(ArrowException):  # values of several types, which are read one by one
            return _from_arrow(values, what)
    for method in ("to_pylist", "to_list"):
        if callable(getattr(values, method, None)) and len(shape) < 2:
            return list(getattr(values, method)())
    if hasattr(values, "__array__"):
        values = np.asarray(values)
    if not hasattr(values, "__iter__") or getattr(values, "ndim", 1) == 0:
        raise DataError(f"{what} must be a list with one entry per example, got {values!r:.40}")
    return list(values)


def _from_arrow(values: Any, what: str) -> list[Any]:
    """The texts, lists or labels of a column that offers the Arrow PyCapsule interface."""
    import pyarrow as pa

    column = pa.chunked_array(values)
    if pa.types.is_struct(column.type):
        names = [field.name for field in column.type]
        if len(names) != 1:
            listed = ", ".join(map(repr, names))[:120]
            raise DataError(f"{what} must be one column, got the columns {listed}; select one")
        column = pa.chunked_array([chunk.field(0) for chunk in column.chunks], column.type[0].type)
    is_list = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    if not is_list or pa.types.is_nested(column.type.value_type) or column.null_count:
        return column.to_pylist()  # type: ignore[no-any-return]
    words: list[Any] = []
    for chunk in column.chunks:
        flat, ends = arrow_values(chunk.flatten()), chunk.offsets.to_numpy()
        words += [tuple(flat[a:b]) for a, b in pairwise((ends - ends[0]).tolist())]
    return words


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
        return cls(int(counts.sum()), len(where), alphabet.unknown(words[where[0]])[0])

    def __bool__(self) -> bool:
        return self.symbols > 0

    def __add__(self, other: UnknownSymbols) -> UnknownSymbols:
        example = self.example if self else other.example
        return UnknownSymbols(self.symbols + other.symbols, self.words + other.words, example)

    def __str__(self) -> str:
        symbols = "1 symbol" if self.symbols == 1 else f"{self.symbols:,} symbols"
        words = "1 example" if self.words == 1 else f"{self.words:,} examples"
        found = f"{symbols} in {words} not in the alphabet of the model"
        return f"{found}, such as {self.example!r}; read as unknown"
