"""`torchrun -m kleene`: the real thing, with real processes and a real kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file
from shell import SMALL, Kleene

OPTIONS = (*SMALL, "--recipe", "direct", "--patience", "99", "--learn", "network")
PATIENCE = 400  # seconds
pytestmark = pytest.mark.slow


def torchrun(size: int, *arguments: object) -> subprocess.Popen[str]:
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size))
    return subprocess.Popen(
        [sys.executable, *launcher, "-m", "kleene", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def gap(one: Path, two: Path) -> float:
    """The largest difference of a weight."""
    a, b = (load_file(folder / "model.safetensors") for folder in (one, two))
    return max(float((a[name] - b[name]).abs().max()) for name in a)


@pytest.fixture
def data(kleene: Kleene, tmp_path: Path) -> Path:
    path = tmp_path / "data.tsv"
    sample = ("sample", "tomita5", "-n", 2500, "--lengths", "0:12", "--out", path)
    assert kleene(*sample).status == 0
    return path


@pytest.mark.parametrize("way", ["--stream", "--no-stream"])
def test_two_processes_train_as_one(kleene: Kleene, data: Path, tmp_path: Path, way: str) -> None:
    one, two, train = tmp_path / "one", tmp_path / "two", (*OPTIONS, "--epochs", "2", way)
    assert kleene("train", data, "--out", one, *train).status == 0
    status, out, err = finished(torchrun(2, "train", data, "--out", two, *train, "--json"))
    assert status == 0, err
    assert json.loads(out)["origin"] == "trained"  # one answer, of one process
    assert gap(one, two) < 1e-4
    assert {path.name for path in one.iterdir()} == {path.name for path in two.iterdir()}


def test_a_killed_process_stops_the_job_and_others_go_on(
    kleene: Kleene, data: Path, tmp_path: Path
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "killed"
    train = ("train", data, *OPTIONS, "--epochs", "12")
    job = torchrun(2, *train, "--out", out, "--checkpoint-every", "0")
    deadline = time.monotonic() + PATIENCE
    while not (out / "checkpoint.safetensors").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    children = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    second = next(pid for pid in children if b"RANK=1\0" in _environment(pid))
    os.kill(int(second), signal.SIGKILL)
    status, _, err = finished(job)
    assert status != 0
    assert "--resume" in err
    assert "SIGKILL" in err  # torchrun says which process died
    assert not (out / "config.json").exists()

    status, _, err = finished(torchrun(3, *train, "--out", out, "--resume"))
    assert status == 0, err
    assert kleene(*train, "--out", whole).status == 0
    assert gap(out, whole) < 1e-3


def _environment(pid: str) -> bytes:
    return b"\0" + Path(f"/proc/{pid}/environ").read_bytes()


def test_a_mistake_is_told_once(tmp_path: Path) -> None:
    status, out, err = finished(torchrun(2, "train", tmp_path / "no.tsv", "--out", tmp_path / "m"))
    assert status != 0
    assert out == ""
    assert sum("kleene: error:" in line for line in err.splitlines()) == 1


def test_commands_that_cannot_be_shared_are_done_by_one(kleene: Kleene, folder: Path) -> None:
    ask = ("evaluate", folder / "model", folder / "data.tsv", "--json")
    status, out, err = finished(torchrun(2, *ask))
    assert status == 0, err
    assert json.loads(out) == json.loads(kleene(*ask).out)
