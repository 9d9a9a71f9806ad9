"""Files: atomic writes, so that a reader never sees a part, and reads of regular files only."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from glob import escape
from pathlib import Path
from secrets import token_hex

from kleene.errors import DataError

MAX_BYTES = 256 * 2**20
"""Bound on a file that is read as a whole and has no bound of its own."""
_FORMULA = re.compile(r"[=@\t\r\n]|[+-](?!\.?\d+(\.\d*)?([eE][+-]?\d+)?\Z)")


def without_formula(cell: str) -> str:
    """A CSV cell that no spreadsheet runs as a formula: an apostrophe goes in front of = + - @.

    >>> [without_formula(cell) for cell in ("=1+1", "-x", "-1.5", "text")]
    ["'=1+1", "'-x", '-1.5', 'text']
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def open_regular(path: str | Path) -> io.BufferedReader:
    """Open a file to read bytes; a FIFO or device, which may never end, is an OSError."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return open(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is not a regular file but a pipe or device", str(path))


def read_regular(path: str | Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The content of a regular file; one of more bytes is an OSError."""
    with open_regular(path) as file:
        size = _bounded_size(file, path, max_bytes)  # before memory is taken
        return file.read(size)


def check_regular(path: str | Path, max_bytes: int = MAX_BYTES) -> None:
    """Refuse what `read_regular` refuses, for readers that open a file by its name."""
    with open_regular(path) as file:
        _bounded_size(file, path, max_bytes)


def _bounded_size(file: io.BufferedReader, path: str | Path, max_bytes: int) -> int:
    size = os.fstat(file.fileno()).st_size
    if size > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes:,} bytes", str(path))
    return size


def format_mismatch(found: object, wanted: str, cure: str) -> str:
    """The message for a file whose format is not the one this version reads.

    A format is a name and a number, such as `kleene.dfa/1`. Older numbers stay readable.
    """
    name, _, number = wanted.rpartition("/")
    version = found.removeprefix(f"{name}/") if isinstance(found, str) else ""
    newer = version != found and version.isdecimal()
    newer = newer and (len(version), version) > (len(number), number)  # int() has a longest text
    advice = "it was written by a newer version: upgrade kleene" if newer else cure
    return f"format must be {wanted!r}, got {found!r:.60}; {advice}"


def write_atomically(path: str | Path, content: str | bytes) -> Path:
    """Write to a temporary name beside `path`, then rename: all of it is there, or nothing new."""
    path = Path(path)
    write_together({path: content})
    return path


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files; none is renamed before the contents of all are on disk.

    After the first rename, an interrupt waits until all files are renamed; what a killed process
    could not rename is found by `unfinished`.
    """
    written: dict[Path, Path] = {}
    path, token = Path(), token_hex(4)
    try:
        for path, content in contents.items():
            written[path] = path.with_name(f".{path.name}.{token}.tmp")
            data = content.encode() if isinstance(content, str) else content
            _write(written[path], data, mode=_mode(path))
    except BaseException as error:
        _remove(written.values())
        if isinstance(error, OSError):
            raise _cannot_write(path, error) from error
        if isinstance(error, UnicodeEncodeError):
            found = ascii(error.object[error.start])
            raise DataError(f"cannot write {path}: {found} has no UTF-8 form; remove it") from error
        raise
    _rename(written)


def unfinished(path: Path) -> list[Path]:
    """Temporary files of `path` that killed processes left behind, complete or not."""
    return sorted(path.parent.glob(f".{escape(path.name)}.*.tmp"))


def sweep(paths: Iterable[Path]) -> None:
    """Remove the temporary files of killed processes; no live one may be writing these paths."""
    for path in paths:
        _remove(unfinished(path))


def _mode(path: Path) -> int | None:
    """The permissions a file keeps when it is replaced, None for a new one."""
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o777
    except OSError:
        return None


def _write(path: Path, content: bytes, mode: int | None) -> None:
    """Write a file that is not there yet; without a mode, it gets the system's for new files."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags, 0o666 if mode is None else 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        os.chmod(path, mode)


def _rename(written: Mapping[Path, Path]) -> None:
    left, interrupt = dict(written), None
    while left:
        path, temporary = next(iter(left.items()))
        try:
            if temporary.exists():
                os.replace(temporary, path)
            del left[path]
        except KeyboardInterrupt as error:
            interrupt = error
        except OSError as error:
            if len(left) == len(written):
                _remove(left.values())
            raise _cannot_write(path, error) from error
    for folder in {path.parent for path in written}:
        _sync_folder(folder)
    if interrupt is not None:
        raise interrupt


def _sync_folder(folder: Path) -> None:
    """Make renames outlast a loss of power, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _cannot_write(path: Path, error: OSError) -> DataError:
    reason = error.strerror or str(error)
    cure = "choose an existing, writable folder with free space"
    return DataError(f"cannot write {path}: {reason}; {cure}")


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(OSError):  # a read-only file system
            path.unlink(missing_ok=True)
