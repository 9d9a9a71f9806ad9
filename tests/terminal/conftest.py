"""One model, trained in a terminal and read there, for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock
from terminal import TRAIN, TerminalRun, run_in_terminal, write_data


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TerminalRun]:
    """A folder with `data.tsv`, `model`, `dfa.json`, `certificate.json`, and the training's run.

    Test processes that run beside each other share it.
    """
    shared = tmp_path_factory.getbasetemp()
    if "popen-gw" in shared.name:
        shared = shared.parent
    folder, ready = shared / "terminal", shared / "terminal.txt"
    with FileLock(shared / "terminal.lock"):
        if ready.exists():
            with ready.open(newline="") as file:
                raw = file.read()
        else:
            folder.mkdir()
            write_data(folder)
            run = run_in_terminal(*TRAIN, cwd=folder)
            assert run.status == 0, run.text
            raw = run.raw
            ready.write_text(raw, newline="")
    return folder, TerminalRun(0, raw, 24, 80)
