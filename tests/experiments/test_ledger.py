"""Results on disk: found again, never run twice, never half written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from paper import EXPERIMENTS, Request, find
from paper.ledger import Ledger

from kleene.errors import DataError


def test_a_finished_run_is_never_run_again(tmp_path: Path) -> None:
    calls = []

    def work() -> dict[str, int]:
        calls.append(1)
        return {"error": 3}

    first = Ledger("x", tmp_path).run(work, row="a", seed=0)
    again = Ledger("x", tmp_path).run(work, row="a", seed=0)
    assert calls == [1]
    assert again == first
    assert again["result"] == {"error": 3}
    Ledger("x", tmp_path).run(work, row="a", seed=1)
    assert len(calls) == 2
    assert [row["key"]["seed"] for row in Ledger("x", tmp_path).rows] == [0, 1]


def test_a_run_of_other_settings_is_stale_and_replaced(tmp_path: Path) -> None:
    Ledger("x", tmp_path).run(lambda: {"error": 1}, recipe={"epochs": 3}, seed=0)
    ledger = Ledger("x", tmp_path)
    assert not ledger.is_stale({"epochs": 3}, seed=0)
    assert ledger.is_stale({"epochs": 4}, seed=0)
    assert ledger.run(lambda: {"error": 2}, recipe={"epochs": 3}, seed=0)["result"]["error"] == 1
    off = {"epochs": 3, "by_loss": False, "ema": None}
    assert ledger.run(lambda: {"error": 2}, recipe=off, seed=0)["result"]["error"] == 1
    assert ledger.run(lambda: {"error": 2}, recipe={"epochs": 4}, seed=0)["result"]["error"] == 2
    assert [row["result"] for row in Ledger("x", tmp_path).rows] == [{"error": 2}]
    ledger.rows = [{"key": {"seed": 1}, "result": {"error": 1}}]  # settings were not recorded
    assert ledger.is_stale({"epochs": 4}, seed=1)
    assert not ledger.is_stale(None, seed=1)


def test_what_another_process_wrote_meanwhile_stays(tmp_path: Path) -> None:
    one, other = Ledger("toy", tmp_path), Ledger("toy", tmp_path)
    one.run(lambda: {"n": 1}, seed=1)
    other.run(lambda: {"n": 2}, seed=2)
    assert [row["key"]["seed"] for row in Ledger("toy", tmp_path).rows] == [1, 2]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_records_settings_that_json_keeps(name: str, tmp_path: Path) -> None:
    """Equal after a round trip, and different checkpoints for different settings."""
    experiment = find(name)
    for run in experiment.runs(Request(rows=experiment.rows[:2], seeds=1)):
        assert json.loads(json.dumps(run.recipe)) == run.recipe
        assert run.recipe
    one, two = (Request(recipe={"epochs": n}).checkpoint for n in (1, 2))
    assert one != two


@pytest.mark.parametrize("content", ["", "{", "[]", '{"machine": {}}'])
def test_a_broken_file_is_named_and_kept(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"x\.json"):
        Ledger("x", tmp_path)
    assert path.read_text() == content
