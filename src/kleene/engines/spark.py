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
    kind = frame.schema[column].dataType.simpleString()
    if kind != "string" and not kind.startswith("array"):
        raise DataError(f"{column!r} must hold texts or lists of symbols, got the type {kind}")

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        return map(scorer, batches)

    schema = StructType(list(frame.schema))
    for name, kind in zip(scorer.names, scorer.fields.values(), strict=True):
        schema.add(name, TYPES[kind])
    return frame.mapInArrow(run, schema)


def sequences(frame: Any, case: str, event: str, order: str, label: str | None = None) -> Any:
    """One row a case: `sequence`, its events in order, and its label.

    A Spark frame has no order of its own, so that the order column must be named. It holds numbers,
    dates, or texts of either. An event without a place in the order fails the job.
    """
    from pyspark.sql import functions as sql

    for role, name in (("case", case), ("event", event), ("order", order), ("label", label)):
        if name not in frame.columns and (role, name) != ("label", None):
            listed = ", ".join(map(repr, frame.columns))[:200]
            raise DataError(f"no column {name!r} among {listed}; name the {role} column")
    place, needed = sql.col(order), "must have a value in every row"
    if frame.schema[order].dataType.simpleString() == "string":
        moment = sql.unix_micros(sql.try_to_timestamp(place)) / 1_000_000
        place = sql.coalesce(place.try_cast("double"), moment)
        needed = "must be a number or an ISO date in every row"
    found = sql.coalesce(sql.concat(sql.lit("'"), sql.col(order).cast("string"), sql.lit("'")),
                         sql.lit("NULL"))  # fmt: skip
    problem = sql.raise_error(sql.concat(sql.lit(f"{order!r} {needed}, got "), found))
    place = sql.when(place.isNull(), problem).otherwise(place)
    events = sql.sort_array(
        sql.collect_list(sql.struct(place.alias("place"), sql.col(event).alias("event")))
    )
    answers = [sql.first(label).alias(label)] if label else []
    cases = frame.groupBy(case).agg(events.alias("events"), *answers)
    return cases.select(
        case, sql.col("events.event").alias("sequence"), *([label] if label else [])
    )


def counts(frame: Any, column: str = "sequence", label: str = "label") -> Any:
    """Distinct sequences with their labels, and how often each occurs, as `count`.

    `kl.induce(sequences, labels, weights=counts)` finds the automaton of all rows from them.
    """
    return frame.groupBy(column, label).count()
