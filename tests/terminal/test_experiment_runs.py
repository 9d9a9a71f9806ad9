"""`kleene reproduce` in a terminal: its table, and a run that is interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal import Terminal, run_in_terminal


def test_the_table_fits_a_narrow_terminal(tmp_path: Path) -> None:
    run = run_in_terminal("reproduce", "tomita", "--table", cwd=tmp_path)
    assert run.status == 0, run.text
    run.assert_clean()


@pytest.mark.slow
def test_an_interrupted_experiment_leaves_its_bars_and_one_line(tmp_path: Path) -> None:
    options = ("reproduce", "tomita", "--rows", "tomita1", "--seeds", 1)
    terminal = Terminal(*options, cwd=tmp_path)
    terminal.wait_for("loss")
    terminal.interrupt()
    run = terminal.finish()
    assert run.status == 2, run.text
    run.assert_clean()
    assert [line.split()[0] for line in run.lines if "━" in line] == ["all", "tomita1,"]
    assert run.lines[-1].startswith("kleene: error: stopped")
