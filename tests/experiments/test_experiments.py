"""Every experiment: its rows, its keys, its table; and small runs of those on real data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest
from paper import EXPERIMENTS, Ledger, Request, find, imdb, mnist, newsgroups
from paper.experiment import middle

from kleene.datasets.corpora import LabelledTexts, Splits
from kleene.datasets.mnist import Images, ImageSplits
from kleene.errors import SettingError
from kleene.model import Model
from kleene.training import reconstruction
from kleene.training.stages import Stage

RESULTS = Path(__file__).parents[2] / "experiments" / "results"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_rows_runs_and_tables(name: str) -> None:
    experiment = find(name)
    for scale in ("small", "paper"):
        runs = list(experiment.runs(Request(scale=scale)))
        keys = [json.dumps(run.key, sort_keys=True) for run in runs]
        assert len(set(keys)) == len(keys) >= len(experiment.rows)
    row = experiment.rows[-1]
    runs = list(experiment.runs(Request(rows=[row], seeds=2, first=5)))
    assert [run.name for run in runs] == [f"{row}, seed 5", f"{row}, seed 6"]
    assert [run.key["seed"] for run in runs] == [5, 6]
    with pytest.raises(SettingError, match=experiment.rows[0]):
        list(experiment.runs(Request(rows=["SR-X"])))
    table = experiment.table([])
    assert table.rows
    assert all(len(line) == len(table.header) for line in table.rows)


@pytest.mark.parametrize(
    "name", [n for n in EXPERIMENTS if (RESULTS / f"{find(n).ledger}.json").exists()]
)
def test_results_on_disk_are_found_and_shown(name: str) -> None:
    experiment = find(name)
    ledger = Ledger(experiment.ledger, RESULTS)
    seeds = 1 + max((row["key"]["seed"] for row in ledger.rows), default=0)
    runs = [
        run
        for scale in ("small", "paper")
        for run in experiment.runs(Request(scale=scale, seeds=seeds))
    ]
    keys = [run.key for run in runs]
    assert all(row["key"] in keys for row in ledger.rows)
    assert all(experiment.headline(row["result"]) for row in ledger.rows)
    assert all(len(line) == len(experiment.table(ledger.rows).header)
               for line in experiment.table(ledger.rows).rows)  # fmt: skip


def test_unknown_experiments_and_scales_are_mistakes() -> None:
    with pytest.raises(SettingError, match="newsgroups"):
        find("cifar")
    with pytest.raises(SettingError, match="paper"):
        Request(scale="huge")


def test_the_middle_of_seeds() -> None:
    assert middle([3.0, 1.0, 2.0], 1) == "2.0 (1.0 to 3.0)"
    assert middle([2.0, 2.0], 0) == "2"
    assert middle([], 2) == ""


@pytest.fixture
def reviews() -> Splits:
    random = np.random.default_rng(0)
    texts, labels = [], []
    for i in range(80):
        label = ("positive", "negative")[i % 2]
        words = random.choice(["film", "plot", "actor", "the"], 6).tolist()
        words[random.integers(6)] = {"positive": "great", "negative": "awful"}[label]
        texts.append(" ".join(words))
        labels.append(label)
    corpus = LabelledTexts(texts=tuple(texts), labels=tuple(labels))
    return Splits(corpus.select(range(60)), corpus.select(range(60, 80)))


TINY = {"input_size": 8, "hidden_size": 8, "pooling": "max"}


def _tiny(scales: dict[str, Any]) -> dict[str, Any]:
    small = {**scales["small"], "network": TINY}
    small["stages"] = [
        replace(stage, epochs=6, learning_rate=0.03, batch_size=8) for stage in small["stages"][:1]
    ]
    return {"small": small}


@pytest.mark.parametrize("module", [imdb, newsgroups])
def test_texts_are_learned_tested_and_saved(
    module: Any, reviews: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = module.__name__.rpartition(".")[2]
    monkeypatch.setattr(module, name, lambda *data, **options: reviews)
    monkeypatch.setattr(module, "SCALES", _tiny(module.SCALES))
    request = Request(models=tmp_path, rows=["SR-LSTM-P"], seeds=1)
    (run,) = find(name).runs(request)
    result = run.work()
    assert result["test_error"] <= 20
    assert len(result["curve"]) == result["epochs"]
    model = Model.load(tmp_path / name / "small" / "SR-LSTM-P-0")
    assert set(model.classes) == {"positive", "negative"}
    assert "great" in model.alphabet.symbols


@pytest.mark.slow
def test_pixels_are_learned_tested_and_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(0)
    labels = np.arange(200) % 10
    pixels = np.zeros((200, 4, 4), np.uint8)
    for image, label in zip(pixels, labels, strict=True):
        image[label // 4, :] = 255 if label % 2 else 90
        image[3, label % 4] = 200
    pixels += random.integers(20, size=pixels.shape, dtype=np.uint8)
    cuts = (slice(160), slice(160, 200))
    parts = ImageSplits(*(Images(pixels=pixels[cut], labels=labels[cut]) for cut in cuts))
    monkeypatch.setattr(mnist, "mnist", lambda data: parts)
    stages = mnist.stages

    def short(row: str, scale: str) -> list[Stage]:
        return [replace(stage, epochs=1) for stage in stages(row, scale)]

    monkeypatch.setattr(mnist, "stages", short)
    monkeypatch.setattr(reconstruction, "STEPS", 10)
    for row, pixels_read in (("SR-LSTM-P", 4), (mnist.WHOLE, 16), ("SR-GRU", 4)):
        coarse = sum(stage.epochs for stage in mnist.coarse_stages(row, "small"))
        (run,) = find("mnist").runs(Request(models=tmp_path, rows=[row], seeds=1))
        result = run.work()
        epochs = coarse + len(short(row, "small"))
        assert result["epochs"] == len(result["curve"]) == epochs
        assert (coarse > 0) == (row == mnist.WHOLE)
        assert run.work() == result | {"test_seconds": ANY}  # from the checkpoints of both parts
        folder = tmp_path / "mnist" / "small" / f"{row}-0".replace(" ", "-")
        model = Model.load(folder)
        assert model.longest == pixels_read
        assert model.network.config.pooling == ("states" if row == "SR-GRU" else "max")
        assert model.classes == tuple(range(10))
