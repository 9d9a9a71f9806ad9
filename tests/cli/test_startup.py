"""Commands on a few rows start quickly: what they import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kleene.data.alphabet import Alphabet
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig

FEW_ROWS = """
import sys
from kleene.cli import main

for command in (["predict", "words.tsv"], ["evaluate", "words.tsv"], ["explain", "0110"]):
    assert main([command[0], "model", *command[1:]]) == 0, command
slow = ("numba", "torch._dynamo", "sklearn", "scipy", "fastapi", "matplotlib")
print([name for name in slow if name in sys.modules], file=sys.stderr)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    alphabet = Alphabet("01")
    config = NetworkConfig(num_symbols=len(alphabet), num_classes=2, num_states=5)
    network = Classifier(config).eval()
    Model(network=network, alphabet=alphabet, classes=(False, True)).save(tmp_path / "model")
    (tmp_path / "words.tsv").write_text("0110\tTrue\n111\tFalse\n")
    return tmp_path


def run(code: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "KLEENE_FUSED"}
    environment = kept | {"PYTHONPATH": ":".join(sys.path)} | variables
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )


def test_a_few_rows_load_nothing_slow(folder: Path) -> None:
    assert run(FEW_ROWS, folder).stderr.strip().endswith("[]")
