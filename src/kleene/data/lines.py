"""The lines of a file or of standard input, one at a time, in constant memory.

Gzip streams that are decompression bombs are refused. Text packs ten to one, very regular text a
hundred to one, a bomb a thousand to one: more than `RATIO` to one past `FREE` bytes is refused.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from kleene.errors import DataError
from kleene.files import open_regular

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_LINE = 16 * 2**20  # a longer line means a file of another kind, or an attack
GZIP_MAGIC = b"\x1f\x8b"
FREE = 64 * 2**20  # bytes that any file may unpack to
RATIO = 250
_ESCAPED = re.compile("[\udc80-\udcff]")  # what "surrogateescape" makes of bytes that are not UTF-8


class Lines:
    """Iterates over the lines of a text file (`-` is standard input), gzipped or not.

    It holds one line in memory, drops a byte order mark and line ends, and turns whatever goes
    wrong into a `DataError` that names the file and the line. UTF-16 needs a byte order mark.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = "standard input" if str(path) == "-" else str(path)
        self.number = 0  # of the line last read
        self.is_packed = False
        self._file: BinaryIO | None = None

    @property
    def suffix(self) -> str:
        """The ending that tells the format, `.gz` taken off."""
        path = self.path
        return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()

    @property
    def share(self) -> float | None:
        """The share of the file that has been read; None where its size is not known."""
        if self._file is None or self._file.closed:
            return None
        return self._file.tell() / max(os.fstat(self._file.fileno()).st_size, 1)

    def close(self) -> None:
        """Close the file now, not when the garbage collector finds it."""
        if self._file is not None:
            self._file.close()

    def error(self, problem: str, line: int | None = None) -> DataError:
        """The error for a line, by default the one last read."""
        return DataError(f"{self.name}, line {line or self.number}: {problem}")

    def __iter__(self) -> Iterator[str]:
        with self.open() as stream:
            wide = stream.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            how = ("utf-16", "strict") if wide else ("utf-8-sig", "surrogateescape")
            text = io.TextIOWrapper(stream, *how, newline="\n")
            try:
                while line := text.readline(MAX_LINE + 1):
                    self.number += 1
                    if len(line) > MAX_LINE:
                        limit = f"longer than {MAX_LINE:,} characters"
                        raise self.error(f"{limit}; put one example on each line")
                    if "\0" in line:
                        raise self.error("a zero byte; give text in UTF-8: TSV, CSV or JSONL")
                    if not line.isascii() and (found := _ESCAPED.search(line)):
                        place = f"character {found.start() + 1} is not UTF-8"
                        raise self.error(f"{place}; save the file as text in UTF-8")
                    yield line.removesuffix("\n").removesuffix("\r")
            finally:
                if not stream.closed:
                    text.detach()  # so that standard input stays open

    @contextmanager
    def open(self) -> Iterator[io.BufferedReader]:
        """The bytes, unpacked; errors of a broken or unreadable file name it."""
        with reading(self.name):
            if self.name == "standard input":
                yield self._unpacked(_standard_input())
            else:
                with open_regular(self.path) as self._file:
                    yield self._unpacked(self._file)

    def _unpacked(self, stream: io.BufferedReader) -> io.BufferedReader:
        self.is_packed = stream.peek(2)[:2] == GZIP_MAGIC
        return unpacked(stream, self.name) if self.is_packed else stream


@contextmanager
def reading(name: str | Path, *broken: type[Exception]) -> Iterator[None]:
    """Around the reading of a file: an error that names it if it is broken or unreadable."""
    damage: tuple[type[Exception], ...] = (EOFError, gzip.BadGzipFile, zlib.error, *broken)
    try:
        yield
    except damage as error:
        reason = str(error) or type(error).__name__
        raise DataError(f"{name} is broken or not gzipped ({reason}); get it again") from None
    except UnicodeDecodeError:
        found = f"{name} is not UTF-16, as its first bytes say"
        raise DataError(f"{found}; save the file as text in UTF-8") from None
    except OSError as error:
        reason = error.strerror or str(error)
        is_folder = isinstance(error, IsADirectoryError)
        cure = "give a file, not a folder" if is_folder else "check its name and permissions"
        raise DataError(f"cannot read {name}: {reason}; {cure}") from None


def unpacked(file: BinaryIO, name: str) -> io.BufferedReader:
    """The bytes that a gzip stream holds; `name` is what errors call it."""
    return io.BufferedReader(_Unpacked(file, name), 2**17)


def _standard_input() -> io.BufferedReader:
    binary = getattr(sys.stdin, "buffer", None) or io.BytesIO(sys.stdin.read().encode())
    return binary if isinstance(binary, io.BufferedReader) else io.BufferedReader(binary)


class _Unpacked(io.RawIOBase):
    def __init__(self, file: BinaryIO, name: str) -> None:
        super().__init__()
        self._packed, self._name, self._size = _Counted(file), name, 0
        self._stream = gzip.GzipFile(fileobj=cast(BinaryIO, self._packed), mode="rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        size: int = self._stream.readinto(buffer)
        self._size += size
        if self._size > max(FREE, RATIO * self._packed.size):
            raise DataError(
                f"{self._name} unpacks to more than {RATIO} times its size, as only a bomb does; "
                "if you trust it, unpack it first"
            )
        return size


class _Counted:
    """A stream that knows how much of it was read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.size = file, 0

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self.size += len(content)
        return content
