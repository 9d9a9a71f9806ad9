"""Files: written all at once, whatever comes between; read only if they are regular."""

from __future__ import annotations

import os
import stat
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from kleene import DFA, adapt
from kleene.automata import PFA, CounterMachine
from kleene.data.files import read_data
from kleene.data.fingerprint import file_digest
from kleene.data.layout import Example
from kleene.data.store import encode, open_store
from kleene.datasets.archives import members
from kleene.datasets.mnist import read_idx
from kleene.errors import DataError, KleeneError
from kleene.files import (
    check_regular,
    read_regular,
    sweep,
    unfinished,
    write_atomically,
    write_together,
)
from kleene.proof.certificate import Certificate
from kleene.training.checkpoint import load_checkpoint


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("at", range(3))
def test_an_interrupt_waits_until_all_have_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    replace, calls = os.replace, 0

    def interrupted(*arguments: str) -> None:
        nonlocal calls
        calls += 1
        if calls == at + 1:
            raise KeyboardInterrupt
        replace(*arguments)

    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_together({tmp_path / name: name for name in "abc"})
    assert contents(tmp_path) == {name: name.encode() for name in "abc"}


def test_an_interrupt_before_the_first_rename_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_atomically(tmp_path / "a", "old")

    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_together({tmp_path / name: name for name in "abc"})
    assert contents(tmp_path) == {"a": b"old"}


def test_what_cannot_be_renamed_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(DataError, match="cannot write"):
        write_atomically(tmp_path / "a", "content")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_the_dead_left_is_swept(tmp_path: Path) -> None:
    names = ["a[1].json", "b.json"]
    for name in names:
        (tmp_path / f".{name}.dead.tmp").write_text("half")
        write_atomically(tmp_path / name, "whole")
    assert [len(unfinished(tmp_path / name)) for name in names] == [1, 1]
    sweep([tmp_path / names[0]])
    assert [len(unfinished(tmp_path / name)) for name in names] == [0, 1]
    assert (tmp_path / names[0]).read_text() == "whole"


# -- permissions -----------------------------------------------------------------------------------


def test_a_private_file_stays_private(tmp_path: Path) -> None:
    path = write_atomically(tmp_path / "a", "old")
    path.chmod(0o600)
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    path = write_atomically(tmp_path / "a", "new")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)


def test_a_replaced_file_is_never_readable_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_atomically(tmp_path / "a", "old")
    path.chmod(0o600)
    modes = []

    def look(descriptor: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))

    monkeypatch.setattr("os.fsync", look)
    write_atomically(path, "new")
    assert modes[0] == 0o600


def test_a_store_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "words").symlink_to(tmp_path / "precious")
    rows = (Example(word, word, 1) for word in "01")
    encode(tmp_path / "words", rows, tokens="chars")
    assert (tmp_path / "precious").read_text() == "kept"


# -- files that are no files -----------------------------------------------------------------------


def endless(folder: Path) -> list[Path]:
    """A FIFO nobody writes to, a device without an end, and links to both."""
    pipe, device = folder / "pipe", folder / "device"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    (folder / "link").symlink_to(pipe)
    return [pipe, device, folder / "link"]


def readers() -> dict[str, Callable[[Path], object]]:
    return {
        "data": read_data,
        "digest": file_digest,
        "store": open_store,
        "dfa": DFA.load,
        "pfa": PFA.load,
        "counter": CounterMachine.load,
        "certificate": Certificate.load,
        "tar": lambda path: list(members(path, lambda name: True)),
        "idx": read_idx,
        "checkpoint": load_checkpoint,
        "onnx": adapt.onnx,
    }


@pytest.mark.parametrize("name", readers())
def test_pipes_and_devices_are_refused(tmp_path: Path, name: str) -> None:
    for path in endless(tmp_path):
        with pytest.raises(KleeneError, match="not a regular file"):
            readers()[name](path)


def test_a_file_that_is_too_large_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(2**28)
    check_regular(path, 2**28)
    tracemalloc.start()
    for read in (read_regular, check_regular):
        with pytest.raises(OSError, match="larger than 134,217,728 bytes"):
            read(path, 2**27)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20
