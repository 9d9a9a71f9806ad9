"""`make demo` and `kleene demo`, the first thing that anybody runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal import Terminal, TerminalRun, run_in_terminal

ROOT = Path(__file__).parents[2]


def check(run: TerminalRun, folder: Path) -> None:
    assert run.status == 0, run.text
    run.assert_clean()
    assert (folder / "demo" / "certificate.json").exists()


@pytest.mark.skipif(not (ROOT / ".venv").exists(), reason="needs the environment of the Makefile")
def test_make_demo(tmp_path: Path) -> None:
    for name in (".venv", "Makefile", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).symlink_to(ROOT / name)
    make = ("make", "--old-file=.venv/.ready", "demo")  # whatever its date, nothing is installed
    typed = {"MAKELEVEL": "0", "MAKEFLAGS": ""}  # not a make inside `make test`
    check(Terminal(cwd=tmp_path, command=make, environment=typed).finish(), tmp_path)


@pytest.mark.slow
def test_demo_in_a_large_terminal_without_colour(tmp_path: Path) -> None:
    run = run_in_terminal("demo", cwd=tmp_path, size="120x40", color=False)
    check(run, tmp_path)
    assert not run.colored
