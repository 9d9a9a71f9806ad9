"""The verifier: agrees with the prover, needs no torch, reads files strictly."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from random_models import KINDS, at_the_edge, random_model

from kleene.errors import AutomatonError, ExtractionError, ModelError
from kleene.nn.config import NetworkConfig
from kleene.proof import outward, verify_core, verify_counter, verify_files
from kleene.proof.certify import certify
from kleene.proof.verify import ASSUMES, CLAIM, verify

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
def test_what_the_prover_found_holds_of_the_saved_folder(kind, tmp_path):
    model, certificate = at_the_edge(kind)
    model.save(tmp_path)
    found = verify(tmp_path, certificate.dfa.to_json(), certificate.to_json())
    assert found.holds, found.reason
    assert found == certificate.verification
    exact = verify(tmp_path, certificate.dfa.to_json(), certificate.to_json(), exact=True)
    assert exact.holds
    assert exact.output_margin <= found.output_margin + 1e-12
    assert exact.output_margin == pytest.approx(found.output_margin, rel=1e-6)
    assert found.checked_pairs == certificate.transitions.size
    assert found.output_margin > 0
    assert CLAIM in str(found)
    assert found.claim == certificate.claim == CLAIM


def test_a_fresh_process_without_torch_verifies(files):
    code = f"""
import runpy, sys
sys.modules["torch"] = None
sys.argv = ["verify", "model", "dfa.json", "certificate.json"]
runpy.run_path({verifier.__file__!r}, run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=files, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert CLAIM in done.stdout


def imports(module) -> set[str]:
    tree = ast.parse(Path(module.__file__).read_text())
    found = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    found |= {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    return {
        name.removeprefix("kleene.proof.")
        for name in found
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "numpy"}
    }


def test_it_imports_numpy_and_safetensors_and_shares_no_code_with_the_prover():
    assert imports(outward) == imports(verify_core) == set()
    assert imports(verify_counter) == {"verify_core"}
    assert imports(verify_files) == {
        *("safetensors", "safetensors.numpy", "outward", "verify_core"),
        *("kleene.errors", "kleene.files", "kleene.model_folder", "kleene.data.words"),
    }
    assert imports(verifier) == {
        *("kleene.errors", "kleene.proof"),  # verify_counter, as a module
        *("outward", "verify_core", "verify_files"),
    }


def test_it_knows_every_setting_of_a_network():
    known = {*verify_files.KINDS, *verify_files.SIZES, *verify_files.TRAINING}
    assert set(NetworkConfig(num_symbols=6, num_classes=2).to_dict()) == known


def test_words_and_tuples_as_symbols(tmp_path):
    model = random_model(24)
    model = replace(model, alphabet=type(model.alphabet)([("a", 1), "word"]))
    certificate = certify(model)
    model.save(tmp_path)
    assert verify(tmp_path, certificate.dfa.to_json(), certificate.to_json()).holds


def test_files_that_cannot_be_read(files, tmp_path):
    dfa, certificate = parsed(files)
    with pytest.raises(ModelError, match="not a model folder"):
        verify(tmp_path / "nothing", dfa, certificate)
    with pytest.raises(AutomatonError, match=r"kleene\.dfa/1"):
        verify(files / "model", tmp_path / "nothing.json", certificate)
    with pytest.raises(AutomatonError, match=r"kleene\.dfa/1"):
        verify(files / "model", certificate, certificate)
    with pytest.raises(ExtractionError, match="expected JSON"):
        verify(files / "model", dfa, "{")
    folder = tmp_path / "half"
    random_model(24).save(folder)
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[:-8])
    with pytest.raises(ModelError, match="not the file that was saved"):
        verify(folder, dfa, certificate)
    random_model(24, cell="lstm").save(tmp_path / "lstm")
    with pytest.raises(ExtractionError, match=r"cell in .* got 'lstm'"):
        verify(tmp_path / "lstm", dfa, certificate)


@pytest.mark.parametrize("path", ["docs/explanation/proofs.md", "src/kleene/cli/commands/prove.py"])
def test_claim_and_assumptions_are_the_same_sentences_everywhere(path):
    text = " ".join((Path(__file__).parents[2] / path).read_text().split()).lower()
    assert CLAIM.lower() in text
    assert f"assumes {ASSUMES.lower()}" in text
