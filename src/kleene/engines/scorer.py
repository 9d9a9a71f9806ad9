"""A model or an automaton as a function of batches of rows, which can be pickled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kleene.errors import DataError, extra
from kleene.machine import Label, is_missing, label_texts

Score = Callable[[list[Any]], Mapping[str, Sequence[Any]]]
"""From sequences to columns: `label`, `probability` and, of an automaton, `state`."""
MAX_LOADED = 16
_LOADED: dict[str, Score] = {}  # what this process has loaded, by key


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """From a batch of rows to the same batch with a column for each answer.

    A batch is an Arrow table or record batch, or a frame of pandas or polars. A missing sequence
    gets missing answers. The scorer carries the weights, opens no file, and loads them once per
    process, when the first batch comes.
    """

    load: Callable[[Any], Score]
    """Makes the answers from `content`; it is pickled by its name."""
    content: Any = field(repr=False)
    key: str
    """Tells one content from another."""
    fields: Mapping[str, str]
    """The Arrow type of each answer."""
    column: str = "sequence"
    prefix: str = ""
    """Stands before the names of the new columns."""

    def __call__(self, batch: Any) -> Any:
        """The batch with the new columns; it keeps its type."""
        self.check(getattr(batch, "column_names", None) or batch.columns)
        values = batch[self.column]
        listed = values.to_pylist() if hasattr(values, "to_pylist") else values.to_list()
        return _with_columns(batch, dict(zip(self.names, self.answers(listed), strict=True)))

    def check(self, columns: Iterable[str]) -> None:
        """Refuse columns without the sequences, or with a name of the new ones."""
        names = list(columns)
        if self.column not in names:
            listed = ", ".join(map(repr, names))[:200]
            raise DataError(f"no column {self.column!r} among {listed}; pass column=")
        if taken := [name for name in self.names if name in names]:
            raise DataError(f"there is a column {taken[0]!r} already; pass prefix='predicted_'")

    @property
    def names(self) -> list[str]:
        """The names of the new columns."""
        return [f"{self.prefix}{name}" for name in self.fields]

    def answers(self, sequences: list[Any]) -> list[Any]:
        """An Arrow array for each new column."""
        with extra("data"):
            import pyarrow as pa

        present = [i for i, value in enumerate(sequences) if not is_missing(value)]
        for i in present:
            if isinstance(sequences[i], int | float | bytes | dict):
                found = repr(sequences[i])[:40]
                raise DataError(f"{self.column!r} must hold texts or lists of symbols, got {found}")
        scored = self._score([sequences[i] for i in present])
        arrays = []
        for name, kind in self.fields.items():
            column: list[Any] = [None] * len(sequences)
            for i, value in zip(present, scored[name], strict=True):
                column[i] = value
            arrays.append(pa.array(column, kind))
        return arrays

    @property
    def _score(self) -> Score:
        if self.key not in _LOADED:
            while len(_LOADED) >= MAX_LOADED:
                del _LOADED[next(iter(_LOADED))]
            _LOADED[self.key] = self.load(self.content)
        return _LOADED[self.key]


def arrow_labels(labels: Sequence[Label]) -> tuple[str, list[Any]]:
    """The Arrow type that holds all labels, and each as that type; of several types, as text.

    >>> arrow_labels([True, False]), arrow_labels(["1", 1]), arrow_labels([0, 2**70])[0]
    (('bool', [True, False]), ('string', ["'1'", '1']), 'string')
    """
    kinds = {type(label) for label in labels}
    names = {bool: "bool", int: "int64", float: "double"}
    kind = names.get(kinds.pop(), "string") if len(kinds) == 1 else "string"
    if kind == "int64" and any(abs(label) >= 2**63 for label in labels if isinstance(label, int)):
        kind = "string"
    return kind, label_texts(labels) if kind == "string" else list(labels)


def _with_columns(batch: Any, columns: Mapping[str, Any]) -> Any:
    if hasattr(batch, "append_column"):  # Arrow
        for name, array in columns.items():
            batch = batch.append_column(name, array)
        return batch
    if hasattr(batch, "with_columns"):
        import polars

        return batch.with_columns(polars.Series(name, array) for name, array in columns.items())
    return batch.assign(**{name: _pandas(array, batch) for name, array in columns.items()})


def _pandas(array: Any, batch: Any) -> Any:
    series = array.to_pandas()
    series.index = batch.index
    return series
