"""Encoded rows on disk, for corpora that do not fit into memory: an Arrow file, memory-mapped.

The text is read once. Symbols and labels are numbered as they come, in as few bytes as their count
needs, and the last batch of the file says what the numbers stand for. The file is renamed when it
is complete, and every batch has a checksum. In memory are the length and the class of each row.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.alphabet import Alphabet, Ids, from_json_symbol, to_json_symbol
from kleene.data.layout import Example
from kleene.data.validate import as_labels, check_repetition, sorted_classes, warn_of_missing
from kleene.data.words import typed_labels
from kleene.errors import DataError, extra
from kleene.files import open_regular
from kleene.machine import Label

FORMAT = "kleene.rows/2"
BATCH_ROWS, BATCH_SYMBOLS = 2**12, 2**18  # a batch is full when it has so many of either
MAX_LABELS = 2**16
WIDTHS = (np.uint8, np.uint16, np.uint32)
Part = tuple[NDArray[Any], NDArray[Any]]
"""Where each row ends among the bytes of a batch, from 0; the numbers of its symbols."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredWords(Sequence[Ids]):
    """Encoded words in a memory-mapped file, or some of them."""

    parts: Sequence[Part]
    starts: Ints
    """The first row of each part."""
    ids: Ids
    """The id of each number."""
    sizes: NDArray[np.int32]
    """The length of each row of the file."""
    rows: NDArray[np.int32]
    """Which rows of the file they are."""

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.rows)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return self.select(np.arange(len(self))[at])
        row = int(self.rows[at])
        part = int(np.searchsorted(self.starts, row, side="right")) - 1
        ends, numbers = self.parts[part]
        row -= int(self.starts[part])
        begin, end = ends[row : row + 2] // numbers.itemsize
        return self.ids[numbers[begin:end]]

    @property
    def lengths(self) -> NDArray[np.int32]:
        """The length of each word."""
        return self.sizes[self.rows]

    def select(self, indices: Ints) -> StoredWords:
        """The words of the given indices, still on disk."""
        return replace(self, rows=self.rows[indices])


@dataclass(frozen=True, kw_only=True)
class Store:
    """An open file of encoded rows."""

    path: Path
    words: StoredWords
    labels: NDArray[np.int32]
    alphabet: Alphabet
    classes: tuple[Label, ...]
    tokens: str
    key: str
    """Tells what the store was made from, and how."""

    @property
    def longest(self) -> int:
        """The length of the longest word."""
        return int(self.words.sizes.max(initial=0))


def encode(
    path: Path,
    examples: Iterable[Example],
    *,
    tokens: str,
    key: str,
    max_symbols: int | None = None,
    min_count: int = 1,
) -> Store:
    """Write the store of some labelled examples; `key` tells one set of examples from another."""
    with extra("data"):
        import pyarrow as pa

    symbols, labels, counts, rows = _Numbers(), _Numbers(), np.zeros(0, np.int64), 0
    unfinished = path.with_name(f"{path.name}.part")
    schema = pa.schema([("symbols", pa.binary()), ("label", pa.uint16())])
    try:
        unfinished.unlink(missing_ok=True)  # of a killed run, or a link to a file of somebody else
        with open(unfinished, "xb") as file:
            with pa.ipc.new_file(file, schema) as writer:
                for words, of_rows in _batched(examples):
                    flat = chain.from_iterable(words)
                    numbers = np.fromiter(map(symbols.__getitem__, flat), np.uint32)
                    counts = np.append(counts, np.zeros(len(symbols) - len(counts), np.int64))
                    counts += np.bincount(numbers, minlength=len(counts))
                    width = next(i for i in WIDTHS if len(symbols) <= 2 ** np.iinfo(i).bits)
                    numbers = numbers.astype(width)
                    ends = np.cumsum([0, *map(len, words)], dtype=np.int32) * numbers.itemsize
                    buffers = [None, pa.py_buffer(ends), pa.py_buffer(numbers)]
                    column = pa.Array.from_buffers(pa.binary(), len(words), buffers)
                    kinds = np.array([labels[label] for label in of_rows])
                    if len(labels) > MAX_LABELS:
                        problem = f"more than {MAX_LABELS:,} different labels"
                        raise DataError(f"{problem}; check the column")
                    batch = pa.record_batch([column, kinds.astype(np.uint16)], schema=schema)
                    check = {"width": str(numbers.itemsize), "checksum": _checksum(batch)}
                    writer.write_batch(batch, custom_metadata=check)
                    rows += len(words)
                named = as_labels(typed_labels(list(labels)))
                warn_of_missing(named)
                classes = sorted_classes(named)
                check_repetition(len(classes), rows)
                found = dict(zip(symbols, counts.tolist(), strict=True))
                alphabet = Alphabet.from_counts(found, max_symbols, min_count)
                about = {
                    "format": FORMAT,
                    "alphabet": [to_json_symbol(symbol) for symbol in alphabet.symbols],
                    "ids": alphabet.encode(tuple(symbols)).tolist(),
                    "classes": [to_json_symbol(label) for label in classes],
                    "class_of": [classes.index(label) for label in named],
                    "tokens": tokens,
                    "key": key,
                }
                writer.write_batch(batch.slice(0, 0), custom_metadata={"kleene": json.dumps(about)})
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        reason = error.strerror or str(error)
        cure = "choose a folder that is writable and has room"
        raise DataError(f"cannot write the encoded rows, {path}: {reason}; {cure}") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return open_store(path)


def open_store(path: Path) -> Store:
    """Open what `encode` wrote, or say in one line what is wrong with it."""
    with extra("data"):
        import pyarrow as pa

    broken = (OSError, LookupError, TypeError, ValueError, RecursionError, pa.ArrowException)
    try:
        open_regular(path).close()
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        last = reader.num_record_batches - 1
        about = json.loads(reader.get_batch_with_custom_metadata(last)[1][b"kleene"])
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']!r:.40}")
        ids = np.array(about["ids"], np.int64)
        batches = map(reader.get_batch_with_custom_metadata, range(last))
        read = [_part(batch, check, len(ids)) for batch, check in batches]
        sizes = np.concatenate([np.diff(ends) // numbers.itemsize for ends, numbers, _ in read])
        return Store(
            path=path,
            words=StoredWords(
                parts=[(ends, numbers) for ends, numbers, _ in read],
                starts=np.cumsum([0, *(len(labels) for _, _, labels in read[:-1])]),
                ids=ids,
                sizes=sizes,
                rows=np.arange(len(sizes), dtype=np.int32),
            ),
            labels=np.array(about["class_of"], np.int32)[np.concatenate([r[2] for r in read])],
            alphabet=Alphabet(map(from_json_symbol, about["alphabet"])),
            classes=tuple(map(from_json_symbol, about["classes"])),
            tokens=str(about["tokens"]),
            key=str(about["key"]),
        )
    except broken as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path} does not hold whole encoded rows ({reason}); delete it") from None


class _Numbers(dict[Any, int]):
    """Numbers its keys as they come."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


def _batched(examples: Iterable[Example]) -> Iterator[tuple[list[Any], list[Label | None]]]:
    words: list[Any] = []
    labels: list[Label | None] = []
    symbols = 0
    for example in examples:
        words.append(example.word)
        labels.append(example.label)
        symbols += len(example.word)
        if len(words) >= BATCH_ROWS or symbols >= BATCH_SYMBOLS:
            yield words, labels
            words, labels, symbols = [], [], 0
    if words:
        yield words, labels


def _part(batch: Any, about: Any, known: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The ends of the rows of a batch, the numbers of their symbols, and those of their labels."""
    batch.validate(full=True)
    if about is None or about[b"checksum"] != _checksum(batch).encode():
        raise ValueError("a batch is not what was written")
    _, ends, content = batch.column(0).buffers()
    kind = np.dtype(f"u{int(about[b'width'])}")
    numbers = np.frombuffer(content, kind)
    if len(numbers) and int(numbers.max()) >= known:
        raise ValueError("a symbol has no name")
    return np.frombuffer(ends, np.int32, len(batch) + 1), numbers, batch.column(1).to_numpy()


def _checksum(batch: Any) -> str:
    total = 0
    for column in batch.columns:
        for buffer in column.buffers():
            total = zlib.crc32(buffer or b"", total)
    return str(total)
