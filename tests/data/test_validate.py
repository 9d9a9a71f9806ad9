"""What a user passes to `fit`: columns of other libraries, and mistakes that are named."""

from __future__ import annotations

import warnings
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pytest

from kleene.data.validate import as_classes, as_labels, as_words
from kleene.errors import DataError, DataWarning

TEXTS = ["a b", "b"]


def columns() -> dict[str, Any]:
    found: dict[str, Any] = {"list": TEXTS, "tuple": tuple(TEXTS), "array": np.array(TEXTS)}
    found["objects"] = np.array(TEXTS, dtype=object)
    return found


@pytest.mark.parametrize("kind", ["list", "tuple", "array", "objects"])
def test_columns_of_texts(kind: str) -> None:
    assert as_words(columns()[kind])[0] == [("a", "b"), ("b",)]


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS, "label": [1, 0]})
    assert as_words(frame["text"])[0] == [("a", "b"), ("b",)]
    assert as_labels(frame["label"]) == [1, 0]
    assert all(type(label) is int for label in as_labels(frame["label"]))
    with pytest.raises(DataError, match=r"must be one column, got a table .*; pass X\['text'\]"):
        as_words(frame[["text"]])
    for missing in (None, float("nan"), pandas.NA):
        with pytest.raises(DataError, match="X has a missing value in row 1; drop the row"):
            as_words(pandas.Series(["a", missing], dtype=object))


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"text": TEXTS, "label": [1, 0]})
    assert as_words(frame["text"])[0] == [("a", "b"), ("b",)]
    assert as_labels(frame["label"]) == [1, 0]
    with pytest.raises(DataError, match=r"pass X\['text'\]"):
        as_words(frame[["text"]])
    with pytest.raises(DataError, match="missing value in row 1"):
        as_words(polars.Series(["a", None]))


def test_arrow() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"text": TEXTS, "label": [1, 0]})
    assert as_words(table["text"])[0] == [("a", "b"), ("b",)]
    assert as_labels(table["label"]) == [1, 0]
    with pytest.raises(DataError, match=r"pass X\['text'\]"):
        as_words(table.select(["text"]))


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
