"""Gzip streams that refuse to be decompression bombs.

Text packs ten to one, very regular text a hundred to one; gzip can do a thousand to one. What goes
on past `FREE` bytes at more than `RATIO` to one is there to fill a memory or a disk.
"""

from __future__ import annotations

import gzip
import io
from typing import TYPE_CHECKING, BinaryIO, cast

from kleene.errors import DataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

FREE = 64 * 2**20  # bytes that any file may unpack to
RATIO = 250


def unpacked(file: BinaryIO, name: str) -> io.BufferedReader:
    """The bytes that a gzip stream holds; `name` is what errors call it."""
    return io.BufferedReader(_Unpacking(file, name), 2**17)


class _Unpacking(io.RawIOBase):
    def __init__(self, file: BinaryIO, name: str) -> None:
        super().__init__()
        self._packed, self._name, self._size = _Counted(file), name, 0
        self._stream = gzip.GzipFile(fileobj=cast(BinaryIO, self._packed), mode="rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        content = self._stream.read(min(len(view), 2**20))
        view[: len(content)] = content
        self._size += len(content)
        if self._size > max(FREE, RATIO * self._packed.size):
            raise DataError(
                f"{self._name} unpacks to more than {RATIO} times its size, as only a bomb does; "
                "if you trust it, unpack it first"
            )
        return len(content)


class _Counted:
    """A stream that knows how much of it was read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.size = file, 0

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self.size += len(content)
        return content
