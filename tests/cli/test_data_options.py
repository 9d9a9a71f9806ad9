"""Columns, event tables and numbers: said, remembered by the model, and used again."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from shell import Kleene

from kleene.datasets.samples import ORDERS_HEADER, made_orders
from kleene.model import Model

QUICK = ("--states", "3", "--hidden-size", "8", "--embedding-size", "4", "--epochs", "1")
PLAIN = (*QUICK, "--recipe", "direct", "--learn", "network", "--no-baseline")


def orders(path: Path) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([ORDERS_HEADER, *made_orders(40)])
    return path


@pytest.mark.parametrize("stream", ["--stream", "--no-stream"])
def test_events_are_trained_on_and_columns_remembered(
    kleene: Kleene, tmp_path: Path, stream: str
) -> None:
    data, model = orders(tmp_path / "orders.csv"), tmp_path / "model"
    named = ("--case-column", "case", "--order-column", "time")
    trained = kleene("train", data, "--out", model, stream, *named, *PLAIN)
    assert trained.status == 0
    assert "reading cases from 'case', events from 'event', labels from 'label'" in trained.err
    assert Model.load(model).layout.case_column == "case"
    predicted = kleene("predict", model, data)
    assert predicted.status == 0
    assert len(predicted.out.splitlines()) == 40


def test_numbers_are_binned_as_in_training(kleene: Kleene, tmp_path: Path) -> None:
    data, model = tmp_path / "numbers.tsv", tmp_path / "model"
    data.write_text("".join(f"{i} {i + 0.5}\t{int(i > 10)}\n" for i in range(20)))
    assert kleene("train", data, "--out", model, "--bins", "4", *PLAIN).status == 0
    bins = Model.load(model).layout.bins
    assert bins is not None
    assert set(Model.load(model).alphabet.symbols) == set(bins.symbols([0, 7, 12, 20]))
    assert kleene("predict", model, data).status == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--case-column", "nowhere"), "no column is called 'nowhere'"),
        (("--case-column", "case", "--text-column", "event"), "give one or the other"),
        (("--delimiter", "ab"), "delimiter must be one ASCII character"),
        (("--bins", "many"), "bins must be a number"),
        (("--case-column", "case", "--order-column", "event"), "must be a number or an ISO date"),
    ],
)
def test_mistakes_take_one_line(
    kleene: Kleene, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    data = orders(tmp_path / "orders.csv")
    outcome = kleene("train", data, "--out", tmp_path / "model", *options, *PLAIN)
    assert outcome.status == 2
    assert said in outcome.err.splitlines()[-1]
    assert not (tmp_path / "model").exists()
