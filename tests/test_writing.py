"""Files that are written all at once, whatever comes between."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kleene.errors import DataError
from kleene.files import sweep, unfinished, write_atomically, write_together


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
