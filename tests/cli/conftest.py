"""The command line as a user meets it, and a small model to use it with."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kleene.cli import main

SMALL = ("--hidden-size", "16", "--embedding-size", "8")


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


Kleene = Callable[..., Outcome]


@pytest.fixture
def kleene(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Kleene:
    """Run a command in this process; what came before on the two streams is dropped."""

    def run(*arguments: object, stdin: str | bytes = "") -> Outcome:
        content = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        monkeypatch.setattr(sys, "argv", ["kleene", *map(str, arguments)])
        capfd.readouterr()
        status = main()
        return Outcome(status, *capfd.readouterr())

    return run


def start(*arguments: object, **options: object) -> subprocess.Popen[str]:
    """Run a command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "kleene", *map(str, arguments)],
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
        **options,  # type: ignore[call-overload]
    )


def assert_one_clear_line(outcome: Outcome) -> None:
    """What every mistake of a user must look like."""
    assert outcome.status == 2
    errors = [line for line in outcome.err.splitlines() if line.startswith("kleene: error: ")]
    assert len(errors) == 1
    assert all(line.startswith("kleene: ") for line in outcome.err.splitlines())
    assert "Traceback" not in outcome.err
    assert outcome.out == ""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `data.tsv` (Tomita 1), a `model` trained on it, and `truth.json`."""
    place = tmp_path_factory.mktemp("cli")
    data, model = place / "data.tsv", place / "model"
    sample = ["languages", "sample", "tomita1", "-n", "300", "--lengths", "0:9"]
    assert main([*sample, "--out", str(data)]) == 0
    assert main(["languages", "dfa", "tomita1", "--out", str(place / "truth.json")]) == 0
    assert main(["train", str(data), "--out", str(model), *SMALL]) == 0
    return place
