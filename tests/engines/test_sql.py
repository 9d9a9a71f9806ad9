"""Automata as SQL: the answers of `run_many`."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from kleene import DFA
from kleene.errors import AutomatonError, SettingError
from kleene.languages import tomita

STRANGE = ("it's", "a\\b", "é", "b c", '"', "`")


def random_dfa(symbols: tuple[Any, ...], states: int, labels: tuple[Any, ...]) -> DFA:
    draw = random.Random(0)
    table = {i: {s: draw.randrange(states) for s in symbols} for i in range(states)}
    return DFA.from_table(table, start=0, outputs={i: draw.choice(labels) for i in range(states)})


MACHINES = {
    "characters": (random_dfa(tuple("abc"), 7, (True, False)), ""),
    "lists": (random_dfa(STRANGE, 9, ("x", "it's", "y\\")), None),
    "numbers": (random_dfa((0, 1, 5), 4, (0, 1, 2)), None),
    "words": (random_dfa(("a.b", "c|d", "e"), 5, ("x", "y")), " "),
}


def sequences(dfa: DFA, split: str | None, rows: int) -> tuple[list[Any], list[Any]]:
    """Words, and the same as a column holds them."""
    draw = random.Random(1)
    words = [draw.choices(dfa.alphabet, k=draw.randrange(12)) for _ in range(rows)]
    return words, words if split is None else [split.join(word) for word in words]


@pytest.mark.parametrize("name", MACHINES)
def test_duckdb_gives_the_answers_of_the_automaton(name: str) -> None:
    dfa, split = MACHINES[name]
    words, column = sequences(dfa, split, 100_000 if name == "characters" else 2_000)
    unknown = [["?"]] if split is None else "?"
    column = [*column, 99 if name == "numbers" else unknown, None][: len(words)]
    with duckdb.connect() as engine:
        engine.register("given", pa.table({"my column": column}))
        rows = engine.sql(f"SELECT {dfa.to_sql('my column', split=split)} FROM given").fetchall()
    assert [label for (label,) in rows] == dfa.run_many(words).tolist()


def test_unknown_symbols_and_missing_sequences_are_null() -> None:
    text = tomita(4).dfa.to_sql("given", split="")
    query = f"SELECT {text} FROM (VALUES ('0'), ('02'), (''), (NULL)) AS t(given)"
    assert duckdb.sql(query).fetchall() == [(True,), (None,), (True,), (None,)]


def test_what_has_no_sql_is_refused() -> None:
    with pytest.raises(SettingError, match="dialect must be one of duckdb, spark, got 'mysql'"):
        tomita(1).dfa.to_sql(dialect="mysql")
    with pytest.raises(AutomatonError, match=r"outputs must be all strings, .* got int, str"):
        random_dfa(("a",), 9, ("x", 1)).to_sql()
    with pytest.raises(AutomatonError, match=r"symbols must be all strings, .* got tuple"):
        random_dfa((("a", 1),), 2, (True,)).to_sql()
