"""`kleene report` and `kleene serve`, as they are called."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from serving import random_model

from kleene.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("commands")
    random_model().save(place / "model")
    (place / "data.tsv").write_text("".join(f"{i:b}\t{i % 2}\n" for i in range(60)))
    (place / "words.txt").write_text("0\n1\n0110\n")
    return place


def test_a_report_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "report.html"
    status = main(["report", str(folder / "model"), str(folder / "data.tsv"), "--out", str(out)])
    assert (status, capsys.readouterr().out) == (0, f"{out}\n")
    assert out.read_text().startswith("<!doctype html>")


def test_words_without_labels_will_do(folder: Path) -> None:
    out = folder / "bare.html"
    arguments = ["report", str(folder / "model"), str(folder / "words.txt"), "--out", str(out)]
    assert main(arguments) == 0
    values = re.search(r'id="values">(.*?)</script>', out.read_text(), re.DOTALL)
    assert values is not None
    assert json.loads(values[1])["accuracy"] is None


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["report", "nothing", "data.tsv"], "does not exist"),
        (["report", "model", "nothing.tsv"], "cannot read"),
        (["report", "model", "data.tsv", "--out", "no/such/folder/r.html"], "cannot write"),
        (["serve", "nothing"], "does not exist"),
        (["serve", "data.tsv"], "kleene.dfa"),
    ],
)
def test_mistakes_are_told_in_one_line(
    folder: Path,
    arguments: list[str],
    needed: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    more = ["--port", "0"] if arguments[0] == "serve" else []
    assert main([*arguments, *more]) == 2
    told = capsys.readouterr().err
    assert needed in told
    assert told.count("\n") == 1


def test_a_port_in_use_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", str(folder / "model"), "--port", port]) == 2
    assert "--port" in capsys.readouterr().err


def started(folder: Path, *arguments: str) -> tuple[subprocess.Popen[str], str]:
    """A command that serves, and the address that it printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kleene", *arguments],
        cwd=folder,
        env={**os.environ, "BROWSER": "true", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"http://[\d.:]+/", line):
            return process, found[0]
    raise AssertionError("the command ended without an address")


def test_a_server_runs_until_it_is_stopped(folder: Path) -> None:
    process, address = started(folder, "serve", "model", "--port", "0")
    with urllib.request.urlopen(f"{address}health", timeout=30) as answer:
        assert json.load(answer)["models"] == ["model"]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode in (0, 2)
