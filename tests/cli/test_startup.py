"""Commands on a few rows start quickly: what they import, and when the kernels are loaded."""

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
MANY_PASSES = """
import sys
import torch
from kleene.nn import SRGRU, inference
from kleene.nn.fused import switch

network, x = SRGRU(3, 4, num_states=2), torch.randn(5, 2, 3)
with inference(network):
    before, _ = network(x)
assert "numba" not in sys.modules
switch.PLAIN_SECONDS = 1e-9  # as after many passes
with inference(network):
    after, _ = network(x)
assert "numba" in sys.modules
torch.testing.assert_close(before, after)
"""
TRAINING = """
import sys
import torch
from kleene.nn import SRGRU

SRGRU(3, 4, num_states=2)(torch.randn(5, 2, 3))
assert "numba" in sys.modules  # from the first step on, so that seeds decide alone
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


def test_many_passes_load_the_kernels(folder: Path) -> None:
    run(MANY_PASSES, folder)


def test_training_loads_the_kernels_at_once(folder: Path) -> None:
    run(TRAINING, folder)


@pytest.mark.slow
def test_the_first_compilation_is_announced_and_cached(folder: Path) -> None:
    announced = "kleene: compiling kernels for this machine, once"
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    assert announced in run(TRAINING, folder, **cache).stderr
    assert announced not in run(TRAINING, folder, **cache).stderr
