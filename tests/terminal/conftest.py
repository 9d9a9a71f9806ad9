"""One model, trained in a terminal and read there, for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock
from terminal import TerminalRun, run_in_terminal

from kleene.languages import tomita

TRAIN = ("train", "data.tsv", "--out", "model")


def write_data(folder: Path) -> None:
    words, labels = tomita(1).sample(300, lengths=range(9), seed=0)
    rows = [f"{word}\t{int(label)}\n" for word, label in zip(words, labels, strict=True)]
    (folder / "data.tsv").write_text("".join(rows))


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
            raw = ready.read_text(newline="")
        else:
            folder.mkdir()
            write_data(folder)
            run = run_in_terminal(*TRAIN, cwd=folder)
            assert run.status == 0, run.text
            raw = run.raw
            ready.write_text(raw, newline="")
    return folder, TerminalRun(0, raw, 24, 80)
