"""Encoded words on disk, for corpora that do not fit into memory.

One file: a magic line, blocks of words, an index of the blocks, a JSON footer, its length and the
magic line again. A block is read as a whole: the length of each word, the class of each, then all
ids in a row. The file is written beside its place and renamed, so that it is whole or not there;
every block has a checksum.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.alphabet import Alphabet, Ids, from_json_symbol, to_json_symbol
from kleene.errors import DataError
from kleene.files import open_regular
from kleene.machine import Label

MAGIC = b"kleene.store/1\n"
BLOCK_WORDS, BLOCK_SYMBOLS = 4096, 2**20  # a block is full when it has so many of either


@dataclass(frozen=True, kw_only=True)
class Block:
    """Some consecutive words of a store."""

    lengths: Ints
    labels: Ints
    ids: NDArray[Any]  # of all words, one after the other, in few bytes each

    @cached_property
    def _ends(self) -> Ints:
        ends: Ints = np.cumsum(self.lengths)
        return ends

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.lengths)

    def word(self, i: int) -> Ids:
        """The ids of a word."""
        return self.ids[self._ends[i] - self.lengths[i] : self._ends[i]].astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Store:
    """What is where in a file; blocks are read when asked for, and nothing is kept."""

    path: Path
    index: Ints  # (block, 4): offset, words, symbols, checksum
    alphabet: Alphabet
    classes: tuple[Label, ...]
    tokens: str
    key: str
    """Tells what the store was made from, and how."""
    longest: int
    itemsize: int

    def __len__(self) -> int:
        """How many words there are."""
        return int(self.index[:, 1].sum())

    @property
    def symbols(self) -> int:
        """How many symbols all words have."""
        return int(self.index[:, 2].sum())

    def block(self, number: int) -> Block:
        """Read a block, checked."""
        offset, words, symbols, checksum = self.index[number].tolist()
        content = self._read(offset, 8 * words + self.itemsize * symbols)
        if zlib.crc32(content) != checksum:
            raise _broken(self.path, f"block {number} is not what was written")
        head = np.frombuffer(content, np.uint32, 2 * words).astype(np.int64)
        ids = np.frombuffer(content, f"u{self.itemsize}", offset=8 * words)
        return Block(lengths=head[:words], labels=head[words:], ids=ids)

    def head(self, number: int) -> tuple[Ints, Ints]:
        """The lengths and classes of a block's words, without the words."""
        offset, words = self.index[number, :2].tolist()
        head = np.frombuffer(self._read(offset, 8 * words), np.uint32).astype(np.int64)
        return head[:words], head[words:]

    def _read(self, offset: int, size: int) -> bytes:
        try:
            with open_regular(self.path) as file:
                file.seek(offset)
                content = file.read(size)
        except OSError as error:
            raise _broken(self.path, error.strerror or str(error)) from None
        if len(content) < size:
            raise _broken(self.path, "its end is missing")
        return content


def open_store(path: Path) -> Store:
    """Open what `write_store` wrote, or say in one line what is wrong with it."""
    try:
        with open_regular(path) as file:
            size = file.seek(-len(MAGIC) - 8, os.SEEK_END)
            length, magic = int.from_bytes(file.read(8), "little"), file.read()
            if magic != MAGIC or length > size:
                raise ValueError("its end is missing")
            file.seek(size - length)
            footer = json.loads(file.read(length))
            file.seek(footer["index"])
            content = file.read(32 * footer["blocks"])
        if zlib.crc32(content) != footer["checksum"]:
            raise ValueError("its index is not what was written")
        return Store(
            path=path,
            index=np.frombuffer(content, np.int64).reshape(-1, 4),
            alphabet=Alphabet(map(from_json_symbol, footer["alphabet"])),
            classes=tuple(map(from_json_symbol, footer["classes"])),
            tokens=footer["tokens"],
            key=footer["key"],
            longest=footer["longest"],
            itemsize=footer["itemsize"],
        )
    except (OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        raise _broken(path, str(error)[:200]) from None


def write_store(
    path: Path,
    examples: Iterable[tuple[Ids, int]],
    *,
    alphabet: Alphabet,
    classes: tuple[Label, ...],
    tokens: str,
    key: str,
) -> Store:
    """Write encoded words and their classes as they come; one block is in memory at a time."""
    part = path.with_name(f"{path.name}.part")
    itemsize = 2 if len(alphabet) <= 2**16 else 4
    footer: dict[str, Any] = {"tokens": tokens, "key": key, "itemsize": itemsize}
    footer["alphabet"] = [to_json_symbol(symbol) for symbol in alphabet.symbols]
    footer["classes"] = [to_json_symbol(label) for label in classes]
    try:
        part.unlink(missing_ok=True)  # of a killed run, or a link to a file of somebody else's
        with open(part, "xb") as file:
            file.write(MAGIC)
            _write(file, examples, footer)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        reason = error.strerror or str(error)
        cure = "choose a folder that is writable and has room"
        raise DataError(f"cannot write the encoded words, {path}: {reason}; {cure}") from error
    finally:
        part.unlink(missing_ok=True)
    return open_store(path)


def _write(file: BinaryIO, examples: Iterable[tuple[Ids, int]], footer: Mapping[str, Any]) -> None:
    index: list[tuple[int, int, int, int]] = []
    words: list[Ids] = []
    labels: list[int] = []
    symbols = longest = 0

    def close_block() -> None:
        lengths = np.array([len(word) for word in words])
        head = np.concatenate([lengths, np.array(labels)]).astype(np.uint32)
        ids = np.concatenate([np.zeros(0, np.int64), *words]).astype(f"u{footer['itemsize']}")
        content = head.tobytes() + ids.tobytes()
        index.append((file.tell(), len(words), len(ids), zlib.crc32(content)))
        file.write(content)
        words.clear()
        labels.clear()

    for word, label in examples:
        words.append(word)
        labels.append(label)
        symbols += len(word)
        longest = max(longest, len(word))
        if len(words) >= BLOCK_WORDS or symbols >= BLOCK_SYMBOLS:
            close_block()
            symbols = 0
    if words:
        close_block()
    content = np.array(index, dtype=np.int64).reshape(-1, 4).tobytes()
    rest = {"index": file.tell(), "blocks": len(index), "checksum": zlib.crc32(content)}
    file.write(content)
    text = json.dumps({**footer, **rest, "longest": longest}).encode()
    file.write(text + len(text).to_bytes(8, "little") + MAGIC)


def _broken(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path} does not hold whole encoded words ({reason}); delete it, it is made again"
    )
