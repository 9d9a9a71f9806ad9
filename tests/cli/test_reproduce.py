"""`kleene reproduce`: runs, keeps, goes on, shows paper and ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shell import Kleene, assert_one_clear_line

import kleene.reproduce
from kleene.reproduce import Experiment, Request, Table
from kleene.reproduce import ledger as kleene_ledger

RECIPE = {"epochs": 3}


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs of an experiment of two rows, as they are done."""
    calls: list[str] = []

    def work(row: str, seed: int, request: Request) -> dict[str, object]:
        calls.append(f"{row}{seed}")
        return {"error": len(row) + seed, "data": str(request.data), "scale": request.scale}

    experiment = Experiment(
        ledger="two",
        rows=("a", "bb"),
        seeds=lambda row, scale: 2 if row == "a" else 1,
        key=lambda row, seed, scale: {"row": row, "seed": seed, "scale": scale},
        recipe=lambda row, scale: RECIPE,
        work=work,
        headline=lambda result: f"error {result['error']}",
        table=lambda rows: Table(
            ("row", "paper", "ours"),
            [[r["key"]["row"], "1", str(r["result"]["error"])] for r in rows],
        ),
    )
    monkeypatch.setattr(kleene.reproduce, "find", lambda name: experiment)
    return calls


def test_every_row_once_then_further_seeds(kleene: Kleene, done: list[str], tmp_path: Path) -> None:
    outcome = kleene("reproduce", "two", "--results", tmp_path)
    assert outcome.status == 0
    assert done == ["a0", "bb0", "a1"]
    assert "3 of 3: a, seed 1: error 2" in outcome.err
    assert outcome.out.splitlines()[0].split() == ["row", "paper", "ours"]
    assert [line.split() for line in outcome.out.splitlines()[1:]] == [
        ["a", "1", "1"],
        ["bb", "1", "2"],
        ["a", "1", "2"],
    ]


def test_a_finished_row_is_not_run_again(kleene: Kleene, done: list[str], tmp_path: Path) -> None:
    kleene("reproduce", "two", "--results", tmp_path, "--rows", "bb")
    assert done == ["bb0"]
    kleene("reproduce", "two", "--results", tmp_path, "--seeds", "1")
    assert done == ["bb0", "a0"]
    rows = json.loads((tmp_path / "two.json").read_text())["rows"]
    assert [row["key"]["row"] for row in rows] == ["bb", "a"]


def test_a_row_of_other_settings_is_said_and_run_again(
    kleene: Kleene, done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kleene("reproduce", "two", "--results", tmp_path, "--rows", "bb")
    monkeypatch.setitem(RECIPE, "epochs", 4)
    outcome = kleene("reproduce", "two", "--results", tmp_path, "--rows", "bb")
    assert "other or unknown settings" in outcome.err
    assert done == ["bb0", "bb0"]


def test_interrupted_it_says_how_to_go_on(
    kleene: Kleene, done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(ledger: object, work: object, **key: object) -> None:
        raise KeyboardInterrupt

    kleene("reproduce", "two", "--results", tmp_path, "--rows", "bb")
    with monkeypatch.context() as patch:
        patch.setattr(kleene_ledger.Ledger, "run", interrupted)
        outcome = kleene("reproduce", "two", "--results", tmp_path)
    assert outcome.status == 2
    assert "go on" in outcome.err.splitlines()[-1]
    kleene("reproduce", "two", "--results", tmp_path, "--seeds", "1")
    assert done == ["bb0", "a0"]


def test_data_and_scale_reach_the_runs(kleene: Kleene, done: list[str], tmp_path: Path) -> None:
    options = ("--results", tmp_path, "--rows", "a", "--seeds", "1", "--scale", "paper")
    kleene("reproduce", "two", *options, "--data", "some/where")
    (row,) = json.loads((tmp_path / "two.json").read_text())["rows"]
    assert row["result"] == {"error": 1, "data": "some/where", "scale": "paper"}


def test_the_table_alone_runs_nothing(kleene: Kleene, done: list[str], tmp_path: Path) -> None:
    kleene("reproduce", "two", "--results", tmp_path, "--rows", "a", "--seeds", "1")
    outcome = kleene("reproduce", "two", "--results", tmp_path, "--table", "--json")
    assert done == ["a0"]
    assert json.loads(outcome.out) == [{"row": "a", "paper": "1", "ours": "1"}]


@pytest.mark.parametrize(
    "arguments", [("cifar",), ("tomita", "--scale", "huge"), ("tomita", "--rows", "tomita8")]
)
def test_mistakes(kleene: Kleene, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert_one_clear_line(kleene("reproduce", *arguments, "--results", tmp_path))


def test_missing_data_is_one_line(kleene: Kleene, tmp_path: Path) -> None:
    options = ("--data", tmp_path / "nowhere", "--results", tmp_path / "results", "--seeds", "1")
    for name in ("imdb", "newsgroups", "mnist"):
        outcome = kleene("reproduce", name, *options)
        assert_one_clear_line(outcome)
        assert "nowhere" in outcome.err


@pytest.mark.slow
def test_tomita_from_nothing(kleene: Kleene, tmp_path: Path) -> None:
    options = ("--rows", "tomita1", "--seeds", "1", "--results", tmp_path, "--json")
    outcome = kleene("reproduce", "tomita", *options)
    assert outcome.status == 0
    first = json.loads(outcome.out)[0]
    assert first["language"] == "tomita1"
    assert first["ours, exact"] == "1 of 1"
