"""`kleene predict --samples`, and the calibration that `kleene evaluate` tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shell import Kleene

import kleene as kl
from kleene.evaluation.calibration import reliability
from kleene.evaluation.uncertainty import drawn_states


def test_predict_tells_the_spread(kleene: Kleene, folder: Path, tmp_path: Path) -> None:
    words = ["111", "101", ""]
    (tmp_path / "words.txt").write_text("\n".join([*words, ""]))
    asked = ("predict", folder / "model", tmp_path / "words.txt", "--samples", 8, "--seed", 3)
    refused = kleene(*asked)
    assert refused.status == 2
    assert "--noise states" in refused.err
    asked = (*asked, "--noise", "states")
    found = [json.loads(line) for line in kleene(*asked, "--json").out.splitlines()]
    model = kl.SequenceClassifier.load(folder / "model")
    drawn = model.predict_distribution(words, 8, noise=drawn_states, seed=3)
    names = [str(label) for label in model.classes_]
    for row, told in enumerate(found):
        assert [told["probabilities"][name] for name in names] == pytest.approx(drawn.mean[row])
        assert [told["spread"][name] for name in names] == pytest.approx(drawn.spread[row])
        assert told["mutual_information"] <= told["entropy"] + 1e-9
    labels = kleene(*asked).out.splitlines()
    assert labels == [str(model.classes_[i]) for i in drawn.mean.argmax(1)]


def test_no_samples_are_refused(kleene: Kleene, folder: Path) -> None:
    found = kleene("predict", folder / "model", folder / "data.tsv", "--samples", 0)
    assert found.status == 2
    assert found.err.count("\n") == 1


def test_evaluate_tells_the_calibration(kleene: Kleene, folder: Path) -> None:
    told = json.loads(kleene("evaluate", folder / "model", folder / "data.tsv", "--json").out)
    lines = (folder / "data.tsv").read_text().splitlines()
    pairs = [line.split("\t") for line in lines]
    model = kl.SequenceClassifier.load(folder / "model")
    numbers = {str(label): i for i, label in enumerate(model.classes_)}
    labels = [numbers[label] for _, label in pairs]
    wanted = reliability(model.predict_proba([word for word, _ in pairs]), labels)
    assert told["calibration"]["error"] == pytest.approx(wanted.error)
    assert sum(told["calibration"]["counts"]) == len(pairs)
    shown = kleene("evaluate", folder / "model", folder / "data.tsv").out
    assert f"calibration error  {wanted.error:.4f}" in shown
