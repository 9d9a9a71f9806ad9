"""`kleene export`, and the endings that `kleene extract` shares with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from shell import Kleene, assert_one_clear_line

import kleene as kl


def test_a_model_goes_to_onnx(kleene: Kleene, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.onnx"
    assert kleene("export", folder / "model", "--out", out).status == 0
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    model = kl.SequenceClassifier.load(folder / "model")
    ids = model.alphabet_.encode_many(["1111", "1011"])
    given = {"ids": np.stack(ids), "lengths": np.array([4, 4])}
    found = session.run(["probabilities"], given)[0]
    np.testing.assert_allclose(found, model.predict_proba(["1111", "1011"]), atol=1e-5)


@pytest.mark.parametrize("source", ["model", "truth.json"])
def test_without_onnx_the_extra_is_named(
    kleene: Kleene, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    for name in [name for name in sys.modules if name.startswith("kleene.export.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)  # as where it is not installed
    outcome = kleene("export", folder / source, "--out", tmp_path / "made.onnx")
    assert_one_clear_line(outcome)
    assert "kleene[onnx]" in outcome.err


def test_an_automaton_goes_to_c(kleene: Kleene, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "dfa.c"
    assert kleene("export", folder / "truth.json", "--out", out).status == 0
    assert out.read_text() == kl.DFA.load(folder / "truth.json").to_c()


def test_an_automaton_goes_to_onnx(kleene: Kleene, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "dfa.onnx"
    assert kleene("extract", folder / "model", "--out", out).status == 0
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    about = json.loads(session.get_modelmeta().custom_metadata_map["kleene"])
    ids = np.array([[about["alphabet"].index(s) for s in word] for word in ("111", "101")])
    labels = session.run(["labels"], {"ids": ids, "lengths": np.array([3, 3])})[0]
    truth = kl.languages.tomita(1)
    assert [about["labels"][i] for i in labels] == [truth.contains(w) for w in ("111", "101")]


@pytest.mark.parametrize(
    ("source", "out", "told"),
    [
        ("model", "x.c", "kleene extract"),
        ("truth.json", "x.exe", "must end in one of"),
    ],
)
def test_mistakes(
    kleene: Kleene, folder: Path, tmp_path: Path, source: str, out: str, told: str
) -> None:
    found = kleene("export", folder / source, "--out", tmp_path / out)
    assert found.status == 2
    assert told in found.err
    assert found.err.count("\n") == 1
    assert not (tmp_path / out).exists()
