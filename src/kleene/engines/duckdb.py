"""DuckDB: a model or an automaton as a function of SQL."""

from __future__ import annotations

from typing import Any

TYPES = {"string": "VARCHAR", "double": "DOUBLE", "int64": "BIGINT", "bool": "BOOLEAN"}


def register(connection: Any, name: str, model: Any, kind: str = "VARCHAR") -> None:
    """Make `SELECT name(sequence)` the label that a model or an automaton gives.

    `kind` is the SQL type of the sequences, such as VARCHAR or VARCHAR[].
    """
    scorer = model.scorer()

    def label(sequences: Any) -> Any:
        return scorer.answers(sequences.to_pylist())[0]

    result = TYPES[scorer.fields["label"]]
    connection.create_function(name, label, [kind], result, type="arrow", null_handling="special")
