"""The lines of a file or of standard input, one at a time, in constant memory."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kleene.data.readers.gzip_guard import unpacked
from kleene.errors import DataError
from kleene.files import open_regular

MAX_LINE = 16 * 2**20  # bytes; a longer line means a file of another kind, or an attack
GZIP_MAGIC = b"\x1f\x8b"


class Lines:
    """Iterates over the lines of a text file (`-` is standard input), gzipped or not.

    It holds one line in memory, drops a byte order mark and line ends, and turns whatever goes
    wrong into a `DataError` that names the file and the line.
    """

    def __init__(self, path: str | Path, max_line: int = MAX_LINE) -> None:
        self.path = path
        self.max_line = max_line
        self.number = 0  # of the line last read

    @property
    def name(self) -> str:
        """What messages call the file."""
        return "standard input" if str(self.path) == "-" else str(self.path)

    @property
    def suffix(self) -> str:
        """The ending that tells the format, `.gz` taken off."""
        path = Path(self.path)
        return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()

    def error(self, problem: str, line: int | None = None) -> DataError:
        """The error for a line, by default the one last read."""
        return DataError(f"{self.name}, line {line or self.number}: {problem}")

    def __iter__(self) -> Iterator[str]:
        with reading_errors(self), open_bytes(self.path) as stream:
            yield from self._decoded(stream)

    def _decoded(self, stream: BinaryIO) -> Iterator[str]:
        while line := stream.readline(self.max_line + 1):
            self.number += 1
            if len(line) > self.max_line:
                limit = f"longer than {self.max_line:,} bytes"
                raise self.error(f"{limit}; put one example on each line")
            if b"\0" in line:
                raise self.error("a zero byte; give text in UTF-8: TSV, CSV or JSONL")
            try:
                text = line.decode("utf-8-sig" if self.number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                place = f"byte {error.start + 1} is not UTF-8"
                raise self.error(f"{place}; save the file as text in UTF-8") from None
            yield text.removesuffix("\n").removesuffix("\r")


@contextmanager
def reading_errors(lines: Lines) -> Iterator[None]:
    """Turn the errors of a broken or unreadable file into one that names it."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        message = f"{lines.name}, after line {lines.number}: the gz file is broken ({error})"
        raise DataError(f"{message}; get or make it again") from None
    except OSError as error:
        reason = error.strerror or str(error)
        cure = "give a file, not a folder" if isinstance(error, IsADirectoryError) else ""
        cure = cure or "check its name and permissions"
        raise DataError(f"cannot read {lines.name}: {reason}; {cure}") from None


@contextmanager
def open_bytes(path: str | Path) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed when they begin as gzip does."""
    if str(path) == "-":
        yield _decompressed(_standard_input(), "standard input")
    else:
        with open_regular(path) as file:
            yield _decompressed(file, str(path))


def _standard_input() -> io.BufferedReader:
    binary = getattr(sys.stdin, "buffer", None)
    if isinstance(binary, io.BufferedReader):
        return binary
    content = sys.stdin.read() if binary is None else binary.read()
    return io.BufferedReader(io.BytesIO(content.encode() if isinstance(content, str) else content))


def _decompressed(stream: io.BufferedReader, name: str) -> BinaryIO:
    return unpacked(stream, name) if stream.peek(2)[:2] == GZIP_MAGIC else stream
