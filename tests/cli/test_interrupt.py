"""A run that is stopped and goes on ends as if it had never been stopped."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from shell import SMALL, Kleene, assert_one_clear_line, start

DATA = ("sample", "tomita5", "-n", 400, "--lengths", "0:9", "--out")
OPTIONS = (*SMALL, "--recipe", "direct", "--epochs", 12, "--patience", 12, "--learn", "network")
PATIENCE = 240  # seconds


def interrupted(data: Path, out: Path, signum: int) -> str:
    """Start a run, stop it once it has something to keep; the result is its last line."""
    process = start("train", data, "--out", out, *OPTIONS, "--checkpoint-every", 0)
    checkpoint, end = out / "checkpoint.safetensors", time.monotonic() + PATIENCE
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signum)
    printed, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, err
    assert printed == ""
    assert "Traceback" not in err
    return str(err.splitlines()[-1])


@pytest.mark.parametrize(
    "signum", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_resuming_gives_the_same_bits(kleene: Kleene, tmp_path: Path, signum: int) -> None:
    data, out, whole = tmp_path / "data.tsv", tmp_path / "stopped", tmp_path / "whole"
    assert kleene(*DATA, data).status == 0
    line = interrupted(data, out, signum)
    assert f"kleene train {data} --out {out}" in line
    assert "--resume" in line
    assert not (out / "config.json").exists()
    assert not list(out.glob("*.tmp"))

    assert_one_clear_line(kleene("train", data, "--out", out, *OPTIONS))
    outcome = kleene("train", data, "--out", out, *OPTIONS, "--resume", "--seed", 9)
    assert_one_clear_line(outcome)
    assert "random_state" in outcome.err

    assert kleene("train", data, "--out", out, *OPTIONS, "--resume").status == 0
    assert kleene("train", data, "--out", whole, *OPTIONS).status == 0
    weights = "model.safetensors"
    assert (out / weights).read_bytes() == (whole / weights).read_bytes()
    assert not (out / "checkpoint.safetensors").exists()
    again = kleene("train", data, "--out", out, *OPTIONS, "--resume")
    assert again.status == 0
    assert "nothing to do" in again.err


def test_overwrite_starts_anew(kleene: Kleene, tmp_path: Path) -> None:
    data, out = tmp_path / "data.tsv", tmp_path / "model"
    assert kleene(*DATA, data).status == 0
    interrupted(data, out, signal.SIGINT)
    quick = (*SMALL, "--epochs", 1, "--learn", "network")
    assert kleene("train", data, "--out", out, *quick, "--overwrite").status == 0
    assert not (out / "checkpoint.safetensors").exists()
