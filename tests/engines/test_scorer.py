"""Scorers: the answers of `predict` and `run_many`, in every kind of batch and process."""

from __future__ import annotations

import multiprocessing
import pickle
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from random_models import random_model

from kleene import DFA
from kleene.engines import duckdb as duckdb_engine
from kleene.engines import scorer as module
from kleene.errors import AlphabetError, DataError
from kleene.evaluation.metrics import predict
from kleene.languages import tomita

WORDS = ["", "0", "01", "0110", "1110"]
DFA4 = tomita(4).dfa


def frame(kind: str, columns: dict[str, Any]) -> Any:
    if kind in ("pandas", "polars"):
        return pytest.importorskip(kind).DataFrame(columns)
    table = pa.table(columns)
    return table if kind == "table" else table.to_batches()[0]


def as_dict(batch: Any) -> dict[str, list[Any]]:
    if hasattr(batch, "to_pydict"):
        return batch.to_pydict()
    return batch.to_dict("list") if hasattr(batch, "assign") else batch.to_dict(as_series=False)


@pytest.mark.parametrize("kind", ["table", "batch", "pandas", "polars"])
def test_a_batch_keeps_its_type_and_gets_the_answers(kind: str) -> None:
    model = random_model(symbols="01")
    words = [[*word] for word in WORDS]
    expected = predict(model.network, model.alphabet.encode_many(words))
    given = frame(kind, {"id": list(range(5)), "events": words})
    found = model.scorer("events")(given)
    assert type(found) is type(given)
    columns = as_dict(found)
    assert columns["id"] == list(range(5))
    assert columns["label"] == [model.classes[i] for i in expected.predicted]
    assert np.allclose(columns["probability"], expected.probabilities.max(1), atol=1e-6)
    labels = as_dict(DFA4.scorer("events")(given))
    assert labels["label"] == DFA4.run_many(words).tolist()
    assert [DFA4.outputs[state] for state in labels["state"]] == labels["label"]


def test_missing_sequences_have_missing_answers() -> None:
    found = DFA4.scorer()(pa.table({"sequence": ["0", None, "000"]}))
    assert found["label"].to_pylist() == [True, None, False]
    assert found["state"].null_count == found["probability"].null_count == 1


def test_wrong_batches_are_named() -> None:
    scorer = DFA4.scorer("events")
    with pytest.raises(DataError, match=r"no column 'events' among 'sequence'; pass column="):
        scorer(pa.table({"sequence": ["0"]}))
    with pytest.raises(DataError, match="there is a column 'label' already; pass prefix"):
        scorer(pa.table({"events": ["0"], "label": [1]}))
    for wrong in (7, 1.5, b"01", {"a": 1}):
        with pytest.raises(DataError, match=r"'events' must hold texts or lists of symbols, got "):
            scorer(pa.table({"events": [wrong]}))
    with pytest.raises(AlphabetError, match="'2'"):
        scorer(pa.table({"events": ["2"]}))
    named = DFA4.scorer("events", prefix="predicted_")(pa.table({"events": ["0"], "label": [1]}))
    assert named.column_names[2:] == ["predicted_label", "predicted_probability", "predicted_state"]


def test_labels_of_several_types_become_strings() -> None:
    dfa = DFA.from_table({0: {"a": 1}, 1: {"a": 0}}, start=0, outputs={0: "even", 1: 1})
    found = dfa.scorer()(pa.table({"sequence": ["", "a"]}))
    assert found["label"].to_pylist() == ["even", "1"]


def test_weights_are_loaded_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOADED", {})
    scorer = random_model(symbols="01").scorer()
    table = pa.table({"sequence": ["01"]})
    for _ in range(2):
        pickle.loads(pickle.dumps(scorer))(table)
    (first,) = module._LOADED.values()
    scorer(table)
    assert [*module._LOADED.values()] == [first]


def test_another_process_gives_the_same_answers() -> None:
    scorer, table = random_model(symbols="01").scorer(), pa.table({"sequence": WORDS})
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(scorer, [table])[0].equals(scorer(table))


def test_polars_reads_lazily() -> None:
    polars = pytest.importorskip("polars")
    lazy = polars.DataFrame({"sequence": WORDS}).lazy()
    found = lazy.map_batches(DFA4.scorer(), validate_output_schema=False).collect()
    assert found["label"].to_list() == DFA4.run_many(WORDS).tolist()


@pytest.mark.parametrize(
    ("kind", "words"), [("VARCHAR", WORDS), ("VARCHAR[]", [*map(list, WORDS)])]
)
def test_a_function_of_duckdb(kind: str, words: list[Any]) -> None:
    model = random_model(symbols="01")
    with duckdb.connect() as engine:
        duckdb_engine.register(engine, "accepts", DFA4, kind)
        duckdb_engine.register(engine, "predict", model, kind)
        engine.register("given", pa.table({"sequence": [*words, None]}))
        rows = engine.sql("SELECT accepts(sequence), predict(sequence) FROM given").fetchall()
    accepted, predicted = zip(*rows, strict=True)
    assert [*accepted] == [*DFA4.run_many(words).tolist(), None]
    assert [*predicted] == model.scorer()(pa.table({"sequence": [*words, None]}))[
        "label"
    ].to_pylist()


@pytest.mark.slow
def test_dask_partitions() -> None:
    dask = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    pandas = pytest.importorskip("pandas")
    given = dask.from_pandas(pandas.DataFrame({"sequence": WORDS * 20}), npartitions=2)
    scorer = DFA4.scorer()
    scored = given.map_partitions(scorer, meta=scorer(given.head(0)))
    found = scored.compute(scheduler="processes", num_workers=2)
    assert found["label"].tolist() == DFA4.run_many(WORDS * 20).tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Ray's own
def test_ray_batches() -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        data = ray.data.from_arrow(pa.table({"sequence": WORDS * 20}))
        found = data.map_batches(DFA4.scorer(), batch_format="pyarrow").to_pandas()
        assert sorted(found["label"]) == sorted(DFA4.run_many(WORDS * 20).tolist())
    finally:
        ray.shutdown()
