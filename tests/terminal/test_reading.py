"""The commands that read a trained model, in terminals of two sizes, with colour and without."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from terminal import SIZES, Terminal, TerminalRun, run_in_terminal

COMMANDS = {
    "extract": ("extract", "model", "--out", "dfa.json"),
    "certify": ("certify", "model", "dfa.json", "--out", "certificate.json"),
    "verify": ("verify", "model", "dfa.json", "certificate.json"),
    "explain": ("explain", "model", "1101"),
    "predict": ("predict", "model", "data.tsv"),
    "evaluate": ("evaluate", "model", "data.tsv"),
    "induce": ("induce", "data.tsv", "--out", "induced.json"),
    "report": ("report", "model", "data.tsv", "--out", "report.html"),
}
LARGE = ("certify", "predict", "report")  # in the quick tests, the others run in 80 columns


def check(folder: Path, name: str, size: str, color: bool) -> TerminalRun:
    run = run_in_terminal(*COMMANDS[name], cwd=folder, size=size, color=color)
    assert run.status == 0, run.text
    run.assert_clean()
    return run


def _size(name: str) -> str:
    return "120x40" if name in LARGE else "80x24"


@pytest.fixture(scope="session")
def folder(trained: tuple[Path, TerminalRun]) -> Path:
    return trained[0]


def test_extract_certify_verify(folder: Path) -> None:
    for name in ("extract", "certify", "verify"):
        run = check(folder, name, _size(name), color=name != "certify")
    assert run.lines[0].startswith("proved: ")


@pytest.mark.parametrize("name", ["predict", "evaluate", "induce", "report"])
def test_a_model_is_used(folder: Path, name: str) -> None:
    assert not check(folder, name, _size(name), color=False).colored


def test_explain_marks_the_sequence_in_colour(folder: Path) -> None:
    assert check(folder, "explain", "80x24", color=True).colored


@pytest.mark.slow
@pytest.mark.parametrize("color", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_every_command_fits_every_terminal(folder: Path, size: str, color: bool) -> None:
    for name in COMMANDS:
        run = check(folder, name, size, color)
        assert color or not run.colored


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report", "extract", "certify", "induce", "predict"])
def test_an_interrupt_leaves_one_line(folder: Path, name: str) -> None:
    terminal = Terminal(*COMMANDS[name], cwd=folder)
    time.sleep(2)  # Python has started, on all but the busiest machines
    terminal.interrupt()
    run = terminal.finish()
    run.assert_clean()
    assert run.status == 0 or (run.status, run.lines[-1]) == (2, "kleene: error: stopped")
