"""Today's code reads yesterday's files; those of a newer version are refused in one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from runs import begun
from safetensors import safe_open
from safetensors.torch import save_file

import kleene as kl
from kleene.automata.counter.machine import CounterMachine
from kleene.errors import KleeneError
from kleene.files import format_mismatch
from kleene.model import Model
from kleene.proof.certificate import Certificate
from kleene.proof.verify import verify
from kleene.training.checkpoint import load_checkpoint
from kleene.training.loop import fit
from kleene.training.run import Run

KEPT = sorted(path for path in (Path(__file__).parent / "kept").iterdir() if path.is_dir())


@pytest.fixture(params=KEPT, ids=lambda path: path.name)
def kept(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def said(kept: Path) -> dict[str, Any]:
    return json.loads((kept / "said.json").read_text())


def test_a_model_says_what_it_said(kept: Path, said: dict[str, Any]) -> None:
    model = kl.SequenceClassifier.load(kept / "model")
    np.testing.assert_allclose(model.predict_proba(said["words"]), said["probabilities"], atol=1e-6)
    assert len(model.history_) > 0


def test_automata_say_what_they_said(kept: Path, said: dict[str, Any]) -> None:
    dfa = kl.DFA.load(kept / "dfa.json")
    assert dfa.run_many(said["words"]).tolist() == said["labels"]
    assert dfa == kl.languages.tomita(1).dfa
    pfa = kl.PFA.from_json((kept / "pfa.json").read_text())
    assert pfa.alphabet == dfa.alphabet
    counter = CounterMachine.from_json((kept / "counter.json").read_text())
    assert {word: counter.run(word) for word in said["balanced"]} == said["balanced"]


def test_a_certificate_still_holds_or_is_refused_with_the_cure(
    kept: Path, said: dict[str, Any]
) -> None:
    files = [str(kept / name) for name in ("model", "dfa.json", "certificate.json")]
    if kept.name == "0.1":  # its proofs had holes
        for read in (lambda: Certificate.load(files[2]), lambda: verify(*files)):
            with pytest.raises(KleeneError, match=r"run `kleene certify MODEL DFA\.json"):
                read()
        return
    assert Certificate.load(files[2]).temperatures == (said["temperature"],)
    assert verify(*files).holds


def test_a_stopped_run_goes_on(kept: Path, said: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    shutil.copy(kept / path.name, path)
    tensors, _ = load_checkpoint(path)
    assert tensors["weights.head.bias"].tolist() == said["head"]
    network, examples, stages = begun()
    history = fit(network, examples, stages=stages, run=Run(seed=0, checkpoint=path))
    unbroken, *_ = begun()
    whole = fit(unbroken, examples, stages=stages, run=Run(seed=0))
    assert len(history) == len(whole) == 3
    torch.testing.assert_close(network.head.bias, unbroken.head.bias, atol=1e-3, rtol=1e-3)


def _newer_json(path: Path) -> None:
    content = json.loads(path.read_text())
    name, _, number = content["format"].rpartition("/")
    path.write_text(json.dumps({**content, "format": f"{name}/{int(number) + 9}"}))


def _newer_checkpoint(path: Path) -> None:
    with safe_open(path, framework="pt") as file:
        metadata, names = file.metadata(), list(file.keys())
        tensors = {name: file.get_tensor(name) for name in names}
    save_file(tensors, path, {**metadata, "format": "kleene.checkpoint/2"})


READERS: dict[str, tuple[Callable[[Path], None], Callable[[Path], object]]] = {
    "model/config.json": (_newer_json, lambda path: Model.load(path.parent)),
    "dfa.json": (_newer_json, kl.DFA.load),
    "pfa.json": (_newer_json, lambda path: kl.PFA.from_json(path.read_text())),
    "counter.json": (_newer_json, lambda path: CounterMachine.from_json(path.read_text())),
    "certificate.json": (_newer_json, Certificate.load),
    "checkpoint.safetensors": (_newer_checkpoint, load_checkpoint),
}


@pytest.mark.parametrize("name", READERS)
def test_a_newer_version_is_refused(name: str, tmp_path: Path) -> None:
    shutil.copytree(KEPT[-1], tmp_path, dirs_exist_ok=True)
    make_newer, read = READERS[name]
    make_newer(tmp_path / name)
    with pytest.raises(KleeneError, match=r"newer version: upgrade kleene$"):
        read(tmp_path / name)


@pytest.mark.parametrize(
    "came", [None, 3, "kleene.dfa/0", "kleene.pfa/2", "dfa/x", "kleene.dfa/1a"]
)
def test_what_is_not_newer_is_not_called_so(came: object) -> None:
    told = format_mismatch(came, "kleene.dfa/1", "export it again")
    assert told.endswith("; export it again")
    assert repr(came) in told
