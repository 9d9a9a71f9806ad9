"""Training in a real terminal: a fresh run, an interrupted one that goes on."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from terminal import SIZES, TRAIN, Terminal, TerminalRun, run_in_terminal, write_data

PLAIN = ("--hidden-size", 16, "--embedding-size", 8, "--recipe", "direct", "--learn", "network")


def test_a_fresh_run_leaves_a_line_for_each_stage(trained: tuple[Path, TerminalRun]) -> None:
    folder, run = trained
    run.assert_clean()
    assert run.colored
    assert (folder / "model" / "config.json").exists()
    stages = [line.split()[0] for line in run.lines if "━" in line]
    assert stages
    assert len(set(stages)) == len(stages), run.lines


def test_an_interrupted_run_says_how_to_go_on_and_does(tmp_path: Path) -> None:
    write_data(tmp_path)
    options = (*TRAIN, *PLAIN, "--epochs", 4000, "--patience", 4000, "--checkpoint-every", 0)
    terminal = Terminal(*options, cwd=tmp_path, size="120x40", color=False)
    terminal.wait_for("loss")
    terminal.interrupt()
    stopped = terminal.finish()
    assert stopped.status == 2
    assert not stopped.colored
    stopped.assert_clean()
    assert sum("loss" in line for line in stopped.lines) == 1, stopped.lines
    command = stopped.lines[-1].partition("`kleene ")[2].rstrip("`").split()
    assert command == [*map(str, options), "--resume"]
    again = Terminal(*command, cwd=tmp_path)
    again.wait_for("loss")
    again.interrupt()
    resumed = again.finish()
    assert resumed.status == 2
    resumed.assert_clean()
    assert "no interrupted run" not in resumed.text


@pytest.mark.slow
@pytest.mark.parametrize("color", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_training_fits_every_terminal(tmp_path: Path, size: str, color: bool) -> None:
    write_data(tmp_path)
    run = run_in_terminal(*TRAIN, cwd=tmp_path, size=size, color=color)
    assert run.status == 0, run.text
    assert run.colored is color
    run.assert_clean()


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.2, 1, 2, 4])
def test_an_interrupt_while_kernels_compile_leaves_one_line(tmp_path: Path, seconds: float) -> None:
    write_data(tmp_path)
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    terminal = Terminal(*TRAIN, cwd=tmp_path, environment=cache)
    terminal.wait_for(r"\S")
    time.sleep(seconds)
    terminal.interrupt()
    run = terminal.finish()
    assert run.status == 2, run.text
    run.assert_clean()
    assert re.search("interrupted|stopped", run.lines[-1]), run.lines
