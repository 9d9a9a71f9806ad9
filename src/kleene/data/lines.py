"""The lines of a file or of standard input, one at a time, in constant memory.

Gzip streams that are decompression bombs are refused. Text packs ten to one, very regular text a
hundred to one; gzip can do a thousand to one. What goes on past `FREE` bytes at more than `RATIO`
to one is there to fill a memory or a disk.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
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

MAX_LINE = 16 * 2**20  # bytes; a longer line means a file of another kind, or an attack
GZIP_MAGIC = b"\x1f\x8b"
FREE = 64 * 2**20  # bytes that any file may unpack to
RATIO = 250
_CHUNK = 2**17


class Lines:
    """Iterates over the lines of a text file (`-` is standard input), gzipped or not.

    It holds one line in memory, drops a byte order mark and line ends, and turns whatever goes
    wrong into a `DataError` that names the file and the line. UTF-16 needs a byte order mark.
    """

    def __init__(self, path: str | Path, max_line: int = MAX_LINE) -> None:
        self.path = path
        self.max_line = max_line
        self.number = 0  # of the line last read
        self._file: BinaryIO | None = None
        self._stream: BinaryIO | None = None

    @property
    def name(self) -> str:
        """What messages call the file."""
        return "standard input" if str(self.path) == "-" else str(self.path)

    @property
    def suffix(self) -> str:
        """The ending that tells the format, `.gz` taken off."""
        path = Path(self.path)
        return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()

    @property
    def is_plain(self) -> bool:
        """Whether the open file is neither packed nor in UTF-16."""
        return self._file is self._stream

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
    def open(self) -> Iterator[BinaryIO]:
        """The bytes, unpacked and in UTF-8; errors of a broken or unreadable file name it."""
        try:
            if str(self.path) == "-":
                yield _decoded(_standard_input(), self.name)
            else:
                with open_regular(self.path) as self._file:
                    self._stream = _decoded(self._file, self.name)
                    yield self._stream
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            message = f"{self.name}, after line {self.number}: the gz file is broken ({error})"
            raise DataError(f"{message}; get or make it again") from None
        except UnicodeDecodeError:
            message = f"{self.name}, after line {self.number}: not UTF-16, as its first bytes say"
            raise DataError(f"{message}; save the file as text in UTF-8") from None
        except OSError as error:
            reason = error.strerror or str(error)
            cure = "give a file, not a folder" if isinstance(error, IsADirectoryError) else ""
            cure = cure or "check its name and permissions"
            raise DataError(f"cannot read {self.name}: {reason}; {cure}") from None


def unpacked(file: BinaryIO, name: str) -> io.BufferedReader:
    """The bytes that a gzip stream holds; `name` is what errors call it."""
    return io.BufferedReader(_Chunks(_unpacked(file, name)), _CHUNK)


def _standard_input() -> io.BufferedReader:
    binary = getattr(sys.stdin, "buffer", None)
    if isinstance(binary, io.BufferedReader):
        return binary
    content = sys.stdin.read() if binary is None else binary.read()
    return io.BufferedReader(io.BytesIO(content.encode() if isinstance(content, str) else content))


def _decoded(stream: io.BufferedReader, name: str) -> BinaryIO:
    if stream.peek(2)[:2] == GZIP_MAGIC:
        stream = unpacked(stream, name)
    if stream.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return io.BufferedReader(_Chunks(_from_utf16(stream)), _CHUNK)
    return stream


def _from_utf16(stream: BinaryIO) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")()
    while content := stream.read(_CHUNK):
        yield decoder.decode(content).encode()
    yield decoder.decode(b"", final=True).encode()


def _unpacked(file: BinaryIO, name: str) -> Iterator[bytes]:
    packed, size = _Counted(file), 0
    stream = gzip.GzipFile(fileobj=cast(BinaryIO, packed), mode="rb")
    while content := stream.read(_CHUNK):
        size += len(content)
        if size > max(FREE, RATIO * packed.size):
            raise DataError(
                f"{name} unpacks to more than {RATIO} times its size, as only a bomb does; "
                "if you trust it, unpack it first"
            )
        yield content


class _Counted:
    """A stream that knows how much of it was read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.size = file, 0

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self.size += len(content)
        return content


class _Chunks(io.RawIOBase):
    """A stream of the bytes that an iterator yields."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks, self._left = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        while not self._left:
            following = next(self._chunks, None)
            if following is None:
                return 0
            self._left = following
        part, self._left = self._left[: len(view)], self._left[len(view) :]
        view[: len(part)] = part
        return len(part)
