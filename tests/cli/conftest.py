"""A way to run commands in this process, and a small model to run them on."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from shell import SMALL, Kleene, Outcome

from kleene.cli import main


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


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `data.tsv` (Tomita 1), a `model` trained on it, and `truth.json`."""
    place = tmp_path_factory.mktemp("cli")
    data, model = place / "data.tsv", place / "model"
    sample = ["sample", "tomita1", "-n", "300", "--lengths", "0:9"]
    assert main([*sample, "--out", str(data)]) == 0
    assert main(["sample", "tomita1", "--dfa", "--out", str(place / "truth.json")]) == 0
    assert main(["train", str(data), "--out", str(model), *SMALL]) == 0
    return place
