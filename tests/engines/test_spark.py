"""Spark on two local executors: the answers of `run_many`, and mistakes named on the driver."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from random_models import random_model
from test_sql import MACHINES, sequences

import kleene as kl
from kleene.engines import spark
from kleene.engines.scorer import Score, Scorer
from kleene.errors import DataError
from kleene.languages import tomita

EXAMPLES = Path(__file__).parents[2] / "examples"
DFA4 = tomita(4).dfa
EVENTS = "case string, event string, time string"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def session() -> Any:
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    master = "local[2, 3]"  # a task may fail twice
    builder = sql.SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        found = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        yield found
        found.stop()


@pytest.mark.parametrize("name", MACHINES)
def test_its_sql_gives_the_answers_of_the_automaton(session: Any, name: str) -> None:
    dfa, split = MACHINES[name]
    words, column = sequences(dfa, split, 100_000 if name == "characters" else 2_000)
    frame = session.createDataFrame(pa.table({"row": range(len(words)), "my column": column}))
    label = dfa.to_sql("my column", dialect="spark", split=split)
    rows = frame.selectExpr("row", f"{label} AS label").orderBy("row").collect()
    assert [row.label for row in rows] == dfa.run_many(words).tolist()


def test_events_become_sequences_with_answers_and_counts(session: Any) -> None:
    draw = random.Random(0)
    cases = {str(i): draw.choices("01", k=draw.randrange(1, 9)) for i in range(500)}
    events = [(case, e, t) for case, word in cases.items() for t, e in enumerate(word)]
    draw.shuffle(events)
    frame = session.createDataFrame(events, "case string, event string, time int")
    scored = spark.score(spark.sequences(frame, "case", "event", "time"), DFA4)
    rows = scored.collect()
    assert {row.case: row.sequence for row in rows} == cases
    assert all(row.label == DFA4.accepts(cases[row.case]) for row in rows)
    counted = [(tuple(r.sequence), r.label, r["count"]) for r in spark.counts(scored).collect()]
    assert Counter({word: n for word, _, n in counted}) == Counter(map(tuple, cases.values()))
    words, labels, weights = zip(*sorted(counted), strict=True)
    few = kl.induce(words, labels, weights=weights, seed=1)
    assert few.dfa == kl.induce([*cases.values()], [r.label for r in rows], seed=1).dfa == DFA4


@pytest.mark.parametrize(
    "times", [("9", "10"), ("2024-10-27T02:30:00+02:00", "2024-10-27T01:00:00Z")]
)
def test_texts_are_ordered_as_numbers_or_times(session: Any, times: tuple[str, str]) -> None:
    frame = session.createDataFrame([("1", "b", times[1]), ("1", "a", times[0])], EVENTS)
    (row,) = spark.sequences(frame, "case", "event", "time").collect()
    assert row.sequence == ["a", "b"]


def test_a_model_needs_no_folder_where_the_rows_are(session: Any, tmp_path: Path) -> None:
    words = ["", "0", "01", "0110"]
    model = kl.load(random_model(symbols="01").save(tmp_path / "model"))
    expected = model.scorer()(pa.table({"sequence": words})).to_pydict()
    shutil.rmtree(tmp_path / "model")
    rows = spark.score(session.createDataFrame(pa.table({"sequence": words})), model).collect()
    assert {row.sequence: row.label for row in rows} == dict(
        zip(words, expected["label"], strict=True)
    )


def test_mistakes_are_named_before_a_job_starts(session: Any) -> None:
    frame = session.createDataFrame([("1", "0", None)], EVENTS)
    for order in ("when", None):
        with pytest.raises(DataError, match=f"no column {order!r} among .*; name the order column"):
            spark.sequences(frame, "case", "event", order)
    with pytest.raises(DataError, match="no column 'sequence' among"):
        spark.score(frame, DFA4)
    with pytest.raises(
        DataError, match="'n' must hold texts or lists of symbols, got the type int"
    ):
        spark.score(session.createDataFrame([(7,)], "n int"), DFA4, "n")


@pytest.mark.parametrize("time", [None, "soon", "2024-13-45"])
def test_an_event_without_a_place_fails_the_job(session: Any, time: str | None) -> None:
    frame = session.createDataFrame([("1", "0", "1"), ("1", "0", time)], EVENTS)
    found = "NULL" if time is None else f"'{time}'"
    with pytest.raises(Exception, match=f"'time' must be a number or an ISO date .*, got {found}"):
        spark.sequences(frame, "case", "event", "time").collect()
    numbers = session.createDataFrame([("1", "0", None)], "case string, event string, time int")
    with pytest.raises(Exception, match="'time' must have a value in every row, got NULL"):
        spark.sequences(numbers, "case", "event", "time").collect()


def test_an_executor_without_kleene_is_named(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kleene.py").write_text("raise ModuleNotFoundError(\"No module named 'kleene'\")")
    monkeypatch.setitem(session.sparkContext.environment, "PYTHONPATH", str(tmp_path))
    frame = session.createDataFrame(pa.table({"sequence": ["01"]}))
    with pytest.raises(Exception, match="No module named 'kleene'"):
        spark.score(frame, DFA4).collect()


def _die_once(marks: str) -> Score:
    """Ends the process of the executor, unless one has ended already."""
    first = Path(marks) / "died"
    if not first.exists():
        first.touch()
        os._exit(9)
    return DFA4.scorer()._score


def _die(marks: str) -> Score:
    os._exit(9)


class Deadly:
    """A model whose scorer ends its process."""

    def __init__(self, load: Any, marks: Path) -> None:
        key, fields = f"{load.__name__} {marks}", DFA4.scorer().fields
        self.made = Scorer(load=load, content=str(marks), key=key, fields=fields)

    def scorer(self, column: str, *, prefix: str) -> Scorer:
        return replace(self.made, column=column, prefix=prefix)


def test_a_worker_that_dies_is_replaced(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    monkeypatch.setitem(session.sparkContext.environment, "PYTHONPATH", paths)
    words = sequences(DFA4, "", 1_000)[1]
    frame = session.createDataFrame(pa.table({"sequence": words})).repartition(4)
    rows = spark.score(frame, Deadly(_die_once, tmp_path)).collect()
    assert (tmp_path / "died").exists()
    assert sorted((r.sequence, r.label) for r in rows) == sorted(
        zip(words, DFA4.run_many(words).tolist(), strict=True)
    )
    with pytest.raises(Exception, match="Python worker exited unexpectedly"):
        spark.score(frame, Deadly(_die, tmp_path)).write.parquet(str(tmp_path / "out"))
    assert not list((tmp_path / "out").rglob("part-*"))


def test_the_example_goes_from_events_to_scores(tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    done = subprocess.run(
        [sys.executable, EXAMPLES / "spark_logs.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "500 of 500 cases are labelled right" in done.stdout
