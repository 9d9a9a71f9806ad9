"""Spark: event tables to sequences, sequences to answers, and to counts for induction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kleene.engines.scorer import Scorer
from kleene.errors import DataError

TYPES = {"string": "string", "double": "double", "int64": "long", "bool": "boolean"}


def score(frame: Any, model: Any, column: str = "sequence", *, prefix: str = "") -> Any:
    """A Spark frame with the answers of a model or an automaton; see `Scorer`.

    The weights travel with the job, so that executors need no model folder; they need kleene.
    """
    from pyspark.sql.types import StructType

    scorer: Scorer = model.scorer(column, prefix=prefix)
    scorer.check(frame.columns)

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        return map(scorer, batches)

    schema = StructType(list(frame.schema))
    for name, kind in zip(scorer.names, scorer.fields.values(), strict=True):
        schema.add(name, TYPES[kind])
    return frame.mapInArrow(run, schema)


def sequences(frame: Any, case: str, event: str, order: str, label: str | None = None) -> Any:
    """One row a case: `sequence`, its events in order, and its label.

    A Spark frame has no order of its own, so that the order column must be named. An event without
    a place in the order fails the job.
    """
    from pyspark.sql import functions as sql

    for name in (case, event, order, *([label] if label else [])):
        if name not in frame.columns:
            listed = ", ".join(map(repr, frame.columns))[:200]
            raise DataError(f"no column {name!r} among {listed}; name another")
    missing = sql.raise_error(
        sql.lit(f"{order!r} must have a value in every row, got NULL; fill it in")
    )
    place = sql.coalesce(sql.col(order), missing.cast(frame.schema[order].dataType))
    events = sql.sort_array(
        sql.collect_list(sql.struct(place.alias("place"), sql.col(event).alias("event")))
    )
    answers = [sql.first(label).alias(label)] if label else []
    found = frame.groupBy(case).agg(events.alias("events"), *answers)
    return found.select(
        case, sql.col("events.event").alias("sequence"), *([label] if label else [])
    )


def counts(frame: Any, column: str = "sequence", label: str = "label") -> Any:
    """Distinct sequences with their labels, and how often each occurs, as `count`."""
    return frame.groupBy(column, label).count()
