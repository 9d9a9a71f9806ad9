"""Automata as SQL: the answers of `run_many`."""

from __future__ import annotations

import random
import shutil
import sys
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from kleene import DFA
from kleene.engines import spark
from kleene.errors import AutomatonError, DataError, SettingError
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


@pytest.fixture(scope="module")
def session() -> Any:
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        found = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        yield found
        found.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
class TestSpark:
    @pytest.mark.parametrize("name", MACHINES)
    def test_its_sql_gives_the_answers_of_the_automaton(self, session: Any, name: str) -> None:
        dfa, split = MACHINES[name]
        words, column = sequences(dfa, split, 100_000 if name == "characters" else 2_000)
        frame = session.createDataFrame(pa.table({"row": range(len(words)), "my column": column}))
        label = dfa.to_sql("my column", dialect="spark", split=split)
        rows = frame.selectExpr("row", f"{label} AS label").orderBy("row").collect()
        assert [row.label for row in rows] == dfa.run_many(words).tolist()

    def test_events_become_sequences_with_answers_and_counts(self, session: Any) -> None:
        dfa = tomita(4).dfa
        draw = random.Random(0)
        cases = {str(i): draw.choices("01", k=draw.randrange(1, 9)) for i in range(500)}
        events = [(case, e, t) for case, word in cases.items() for t, e in enumerate(word)]
        draw.shuffle(events)
        frame = session.createDataFrame(events, "case string, event string, time int")
        found = spark.sequences(frame, "case", "event", "time")
        rows = spark.score(found, dfa).collect()
        assert {row.case: row.sequence for row in rows} == cases
        assert all(row.label == dfa.accepts(cases[row.case]) for row in rows)
        counted = spark.counts(spark.score(found, dfa)).collect()
        assert sum(row["count"] for row in counted) == len(cases)
        assert len(counted) == len({tuple(word) for word in cases.values()})

    def test_mistakes_are_named_on_the_driver(self, session: Any) -> None:
        frame = session.createDataFrame([("1", "0", None)], "case string, event string, time int")
        with pytest.raises(DataError, match="no column 'when' among 'case', 'event', 'time'"):
            spark.sequences(frame, "case", "event", "when")
        with pytest.raises(Exception, match="'time' must have a value in every row"):
            spark.sequences(frame, "case", "event", "time").collect()
        with pytest.raises(DataError, match="no column 'sequence' among"):
            spark.score(frame, tomita(4).dfa)
