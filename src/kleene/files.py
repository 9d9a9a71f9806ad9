"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from kleene.errors import DataError


def write_atomically(path: str | Path, content: str | bytes) -> Path:
    """Write to a temporary name beside `path`, then rename: all of it is there, or nothing new."""
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"cannot write {path}: {reason}; choose a folder that exists, is writable and has room"
        raise DataError(message) from error
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
