"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kleene.errors import DataError


def write_atomically(path: str | Path, content: str | bytes) -> Path:
    """Write to a temporary name beside `path`, then rename: all of it is there, or nothing new."""
    path = Path(path)
    write_together({path: content})
    return path


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files; no name is taken before the contents of all are on the disk."""
    written: dict[Path, str] = {}
    path = Path()
    try:
        for path, content in contents.items():
            written[path] = _temporary(path)
            with open(written[path], "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(written[path], 0o666 & ~_umask())
        for path in contents:
            os.replace(written[path], path)
    except OSError as error:
        reason = error.strerror or str(error)
        cure = "choose a folder that exists, is writable and has room"
        raise DataError(f"cannot write {path}: {reason}; {cure}") from error
    finally:
        for temporary in written.values():
            if os.path.exists(temporary):
                os.unlink(temporary)


def _temporary(path: Path) -> str:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    return name


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
