"""What a user passes to `fit`: columns of other libraries, and mistakes that are named."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pytest

from kleene.data.validate import as_classes, as_labels, as_words
from kleene.errors import DataError, DataWarning

TEXTS = ["a b", "b"]


def columns(kind: str) -> Any:
    """The texts and labels as columns of a library."""
    values = {"text": TEXTS, "label": [1, 0]}
    if kind in ("pandas", "polars"):
        return pytest.importorskip(kind).DataFrame(values)
    return pyarrow.table(values)


@pytest.mark.parametrize("make", [list, tuple, np.array, lambda x: np.array(x, dtype=object)])
def test_columns_of_texts(make: Callable[[Any], Any]) -> None:
    assert as_words(make(TEXTS))[0] == [("a", "b"), ("b",)]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_columns_of_frames(kind: str) -> None:
    frame = columns(kind)
    assert as_words(frame["text"])[0] == [("a", "b"), ("b",)]
    labels = as_labels(frame["label"])
    assert labels == [1, 0]
    assert all(type(label) is int for label in labels)
    table = frame.select(["text"]) if kind == "arrow" else frame[["text"]]
    with pytest.raises(DataError, match=r"must be one column, got a table .*; pass X\['text'\]"):
        as_words(table)


def test_missing_values_of_frames() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    series = [pandas.Series(["a", m], dtype=object) for m in (None, float("nan"), pandas.NA)]
    for column in (*series, polars.Series(["a", None])):
        with pytest.raises(DataError, match="X has a missing value in row 1; drop the row"):
            as_words(column)


class DatasetColumn:
    """What `dataset["text"]` of Hugging Face's datasets is: a lazy sequence."""

    def __len__(self) -> int:
        return len(TEXTS)

    def __getitem__(self, i: int) -> str:
        return TEXTS[i]

    def __iter__(self) -> Any:
        return iter(TEXTS)


def test_a_lazy_column() -> None:
    assert as_words(DatasetColumn())[0] == [("a", "b"), ("b",)]


@pytest.mark.parametrize("kind", [object, np.str_])
def test_a_table_of_one_column_is_not_a_column(kind: type) -> None:
    with pytest.raises(DataError, match=r"one column, got a table of shape \(2, 1\); pass X\[:, 0"):
        as_words(np.array(TEXTS, dtype=kind).reshape(2, 1))


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan])
def test_missing_values_are_named(missing: object) -> None:
    with pytest.raises(DataError, match="X has a missing value in row 1"):
        as_words(["a", missing])
    with pytest.raises(DataError, match="y has a missing value in row 0"):
        as_labels([missing, 1])


def test_measurements_as_symbols_are_warned_of() -> None:
    numbers = np.random.default_rng(0).normal(size=(10, 5))
    with pytest.warns(DataWarning, match="different fractions .* --bins 8"):
        as_classes(as_words(numbers)[0], [0, 1] * 5)


def test_numbers_that_repeat_are_symbols() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_classes(as_words(np.eye(4))[0], [0, 1, 1, 1])
        as_classes([(0.5, 1.5), (1.5,), (0.5,)], [0, 1, 1])


def test_measurements_are_no_labels() -> None:
    with pytest.raises(DataError, match=r"must be classes, got the number 0.5 in row 1"):
        as_labels([1.0, 0.5])
    assert as_labels([1.0, 0.0]) == [1.0, 0.0]


def test_labels_must_repeat() -> None:
    with pytest.raises(DataError, match="classes that repeat, got 3 different ones"):
        as_classes(["a", "b", "c"], ["x", "y", "z"])
    assert as_classes(["a", "b"], ["x", "y"])[1] == ("x", "y")


def test_contradictions_are_counted() -> None:
    with pytest.warns(DataWarning, match="2 sequences have more than one label"):
        as_classes(["a", "b", "a", "b", "a", "c"], [0, 1, 1, 0, 0, 1])
    with pytest.warns(DataWarning, match="one sequence has more than one label"):
        as_classes([["a"], ["a"], ["b"]], [0, 1, 1])


class Capsule:
    """A column of a library that shares nothing with ours but the Arrow PyCapsule interface."""

    def __init__(self, column: object) -> None:
        self.column = column

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.column.__arrow_c_stream__(requested_schema)


def test_columns_come_by_the_arrow_interface() -> None:
    texts = pyarrow.chunked_array([["a b", "b"], ["c"]])
    assert as_words(Capsule(texts)) == ([("a", "b"), ("b",), ("c",)], "words")
    lists = pyarrow.chunked_array([[[1, 2], []], [[2]]])
    for column in (Capsule(lists), lists, lists.slice(0)):
        assert as_words(column) == ([(1, 2), (), (2,)], "symbols")
    assert as_words(lists.slice(1))[0] == [(), (2,)]
    nested = pyarrow.array([[["a"], ["b"]], [["a"]]])
    assert as_words(nested)[0] == [[["a"], ["b"]], [["a"]]]
    relation = duckdb.sql("SELECT * FROM (VALUES ('a b', 1), ('c', 0)) AS t(text, label)")
    assert as_words(relation.project("text"))[0] == [("a", "b"), ("c",)]
    assert as_labels(relation.project("label")) == [1, 0]
    with pytest.raises(DataError, match="must be one column, got the columns 'text', 'label'"):
        as_words(relation)
    with pytest.raises(DataError, match="missing value in row 1"):
        as_words(Capsule(pyarrow.chunked_array([["a", None]])))
