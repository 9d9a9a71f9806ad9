"""A small disk that can fill, be made larger and be made read-only: a tmpfs, for those who may."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PAGE = 4096


@dataclass(frozen=True)
class Room:
    """A mounted tmpfs."""

    folder: Path

    def resize(self, pages: int) -> None:
        """Make it larger or smaller."""
        _mount("-o", f"remount,size={pages * PAGE}", str(self.folder))

    def freeze(self, *, frozen: bool) -> None:
        """Make it read-only, or writable again."""
        _mount("-o", f"remount,{'ro' if frozen else 'rw'}", str(self.folder))

    def fill(self) -> Path:
        """Take all the room that is left."""
        filler = self.folder / "filler"
        handle = os.open(filler, os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(handle, bytes(PAGE))
        except OSError:
            return filler
        finally:
            os.close(handle)


@contextmanager
def small_room(folder: Path, pages: int) -> Iterator[Room]:
    """A room of so many pages; PermissionError where this user may not mount."""
    folder.mkdir(parents=True, exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={pages * PAGE}", "tmpfs", str(folder))
    try:
        yield Room(folder)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def can_mount(folder: Path) -> bool:
    """Whether rooms can be made here."""
    try:
        with small_room(folder, 1):
            return True
    except OSError:
        return False


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise PermissionError(done.stderr.strip())
