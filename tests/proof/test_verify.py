"""The verifier: agrees with the certifier, needs no torch, and is not fooled."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from random_models import KINDS, at_the_edge, random_model

from kleene.errors import AutomatonError, ModelError, ReadingError
from kleene.model import Model
from kleene.proof.certify import certify
from kleene.proof.verify import verify

verifier = sys.modules[verify.__module__]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model folder, an automaton and a certificate that fit."""
    folder = tmp_path_factory.mktemp("proof")
    model = random_model(58, symbols="abc", classes=(0, 1, 2, 3), end_token=False)
    model.save(folder / "model")
    certificate = certify(model)
    certificate.dfa.save(folder / "dfa.json")
    certificate.save(folder / "certificate.json")
    return folder


def parsed(files: Path) -> tuple[dict, dict]:
    return tuple(
        json.loads((files / name).read_text()) for name in ("dfa.json", "certificate.json")
    )


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=lambda kind: str(KINDS[kind]))
def test_both_sides_find_the_same_margins(kind, tmp_path):
    model, certificate = at_the_edge(kind)
    model.save(tmp_path)
    verdict = verify(tmp_path, certificate.dfa.to_json(), certificate.to_json())
    assert verdict.holds, verdict.reason
    assert verdict.at_running_temperature
    assert verdict.checked_pairs == certificate.checked_pairs
    assert verdict.margin == pytest.approx(certificate.margins.min(), rel=1e-6, abs=1e-9)
    assert verdict.output_margin == pytest.approx(certificate.output_margins.min(), rel=1e-6)


def test_a_fresh_process_without_torch_verifies(files):
    code = f"""
import runpy, sys
sys.modules["torch"] = None
sys.argv = ["verify", "model", "dfa.json", "certificate.json"]
runpy.run_path({verifier.__file__!r}, run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=files, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "agree on all words" in done.stdout


def test_it_shares_no_code_with_the_certifier():
    tree = ast.parse(Path(verifier.__file__).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {
        a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names
    }
    ours = {module for module in modules if module.startswith("kleene")}
    assert ours == {"kleene.errors"}
    assert "torch" not in modules


def shrink(certificate: dict, dfa: dict) -> None:
    certificate["hi"] = np.maximum(
        np.array(certificate["lo"]), np.array(certificate["hi"]) * 0.9
    ).tolist()


def sharpen(certificate: dict, dfa: dict) -> None:
    certificate["lo"] = np.array(certificate["hi"]).round().tolist()


def reroute(certificate: dict, dfa: dict) -> None:
    row = certificate["transitions"][0]
    row[0] = (row[0] + 1) % len(certificate["transitions"])


def heat(certificate: dict, dfa: dict) -> None:
    certificate["temperature"] *= 3


def cool(certificate: dict, dfa: dict) -> None:
    certificate["temperature"] = -1.0


def relabel(certificate: dict, dfa: dict) -> None:
    for document in (dfa, certificate["dfa"]):
        document["outputs"] = [(label + 1) % 4 for label in document["outputs"]]


def unknown_label(certificate: dict, dfa: dict) -> None:
    for document in (dfa, certificate["dfa"]):
        document["outputs"] = ["strange" for _ in document["outputs"]]


def another_automaton(certificate: dict, dfa: dict) -> None:
    dfa["transitions"][0][0] = (dfa["transitions"][0][0] + 1) % len(dfa["outputs"])


def both_tables(certificate: dict, dfa: dict) -> None:
    another_automaton(certificate, dfa)
    certificate["dfa"] = dfa


def other_start(certificate: dict, dfa: dict) -> None:
    for document in (dfa, certificate["dfa"]):
        document["start"] = len(document["outputs"]) - 1


def other_alphabet(certificate: dict, dfa: dict) -> None:
    for document in (dfa, certificate["dfa"]):
        document["alphabet"] = ["x", "y", "z"]


def nothing_is_a_number(certificate: dict, dfa: dict) -> None:
    certificate["hi"][0][0] = float("nan")


def lacks_boxes(certificate: dict, dfa: dict) -> None:
    del certificate["lo"]


def empty(certificate: dict, dfa: dict) -> None:
    for key in ("lo", "hi", "centroids", "dfa_states", "transitions"):
        certificate[key] = []


def outside(certificate: dict, dfa: dict) -> None:
    certificate["centroids"][0] = -1


TAMPERINGS = [shrink, sharpen, reroute, heat, cool, relabel, unknown_label, another_automaton]
TAMPERINGS += [both_tables, other_start, other_alphabet, nothing_is_a_number, lacks_boxes, empty]
TAMPERINGS += [outside]


@pytest.mark.parametrize("tamper", TAMPERINGS)
def test_tampering_is_caught(files, tamper):
    dfa, certificate = parsed(files)
    assert verify(files / "model", dfa, certificate).holds
    tamper(certificate, dfa)
    verdict = verify(files / "model", dfa, certificate)
    assert not verdict.holds
    assert verdict.reason.startswith("the certificate does not hold: ")


def test_other_weights_are_caught(files, tmp_path):
    dfa, certificate = parsed(files)
    model = Model.load(files / "model")
    with torch.no_grad():
        model.network.rnn.get_parameter("weight_hh_l0")[0, 0] += 1e-6
    model.save(tmp_path / "touched")
    assert "other weights" in verify(tmp_path / "touched", dfa, certificate).reason
    with torch.no_grad():
        model.network.rnn.get_parameter("weight_hh_l0").neg_()
    model.save(tmp_path / "changed")
    forged = verifier._Network.load(tmp_path / "changed").digest
    verdict = verify(tmp_path / "changed", dfa, {**certificate, "model_sha256": forged})
    assert not verdict.holds
    assert "weights" not in verdict.reason


def test_a_lower_temperature_is_proved_but_not_called_the_running_one(files):
    model = Model.load(files / "model")
    certificate = certify(model, temperature=model.network.rnn.temperature / 2)
    verdict = verify(files / "model", certificate.dfa.to_json(), certificate.to_json())
    assert verdict.holds
    assert not verdict.at_running_temperature


def test_words_and_tuples_as_symbols(tmp_path):
    model = random_model(24)
    model = replace(model, alphabet=type(model.alphabet)([("a", 1), "word"]))
    certificate = certify(model)
    model.save(tmp_path)
    assert verify(tmp_path, certificate.dfa.to_json(), certificate.to_json()).holds


def test_files_that_cannot_be_read(files, tmp_path):
    dfa, certificate = parsed(files)
    with pytest.raises(ModelError, match="give a model folder"):
        verify(tmp_path / "nothing", dfa, certificate)
    with pytest.raises(AutomatonError, match=r"kleene\.dfa/1"):
        verify(files / "model", tmp_path / "nothing.json", certificate)
    with pytest.raises(AutomatonError, match=r"kleene\.dfa/1"):
        verify(files / "model", certificate, certificate)
    with pytest.raises(ReadingError, match="not JSON"):
        verify(files / "model", dfa, "{")
    folder = tmp_path / "half"
    random_model(24).save(folder)
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[:-8])
    with pytest.raises(ModelError, match="not the file that was saved"):
        verify(folder, dfa, certificate)
    random_model(24, cell="lstm").save(tmp_path / "lstm")
    with pytest.raises(ReadingError, match="cell='lstm'"):
        verify(tmp_path / "lstm", dfa, certificate)
