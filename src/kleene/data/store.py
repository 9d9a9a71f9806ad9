"""Encoded rows on disk, for corpora that do not fit into memory: an Arrow file, memory-mapped.

The text is read once. Symbols are numbered as they come and written to a first file; when all are
counted, the alphabet is known, and the ids are written to the file that stays. That file is renamed
when it is complete, and every batch has a checksum. In memory are the length and the class of each
row, and the rows that are being used.
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

FORMAT = "kleene.rows/1"
BATCH_ROWS, BATCH_SYMBOLS = 2**12, 2**18  # a batch is full when it has so many of either
MAX_LABELS = 100_000
Part = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Where each row ends among the ids, from 0; the ids of all rows; the class of each row."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredWords(Sequence[Ids]):
    """Encoded words in a memory-mapped file, or some of them."""

    parts: Sequence[Part]
    starts: Ints
    """The first row of each part."""
    rows: NDArray[Any]
    """Which rows of the file they are."""
    lengths: NDArray[Any]

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.rows)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return self.select(np.arange(len(self))[at])
        row = int(self.rows[at])
        part = int(np.searchsorted(self.starts, row, side="right")) - 1
        ends, ids, _ = self.parts[part]
        row -= int(self.starts[part])
        return ids[ends[row] : ends[row + 1]].astype(np.int64)

    def select(self, indices: Ints) -> StoredWords:
        """The words of the given indices, still on disk."""
        return replace(self, rows=self.rows[indices], lengths=self.lengths[indices])


@dataclass(frozen=True, kw_only=True)
class Store:
    """An open file of encoded rows."""

    path: Path
    words: StoredWords
    labels: Ints
    alphabet: Alphabet
    classes: tuple[Label, ...]
    tokens: str
    key: str
    """Tells what the store was made from, and how."""

    @property
    def longest(self) -> int:
        """The length of the longest word."""
        return int(self.words.lengths.max(initial=0))


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
    symbols, labels, counts = _Numbers(), _Numbers(), np.zeros(0, np.int64)
    first, second = (path.with_name(f"{path.name}.{n}") for n in ("first", "part"))

    def numbered() -> Iterator[Part]:
        nonlocal counts
        for words, of_rows in _batched(examples):
            ends = np.cumsum([0, *map(len, words)], dtype=np.int32)
            flat = chain.from_iterable(words)
            ids = np.fromiter(map(symbols.__getitem__, flat), np.int32, int(ends[-1]))
            counts = np.append(counts, np.zeros(len(symbols) - len(counts), np.int64))
            counts += np.bincount(ids, minlength=len(counts))
            yield ends, ids, np.array([labels[label] for label in of_rows], np.int32)
            if len(labels) > MAX_LABELS:
                raise DataError(f"more than {MAX_LABELS:,} different labels; check the column")

    try:
        rows = _write(first, numbered(), {}, np.int32)
        named = as_labels(typed_labels(list(labels)))
        warn_of_missing(named)
        classes = sorted_classes(named)
        check_repetition(len(classes), rows)
        found = dict(zip(symbols, counts.tolist(), strict=True))
        alphabet = Alphabet.from_counts(found, max_symbols, min_count)
        about = {
            "format": FORMAT,
            "alphabet": [to_json_symbol(symbol) for symbol in alphabet.symbols],
            "classes": [to_json_symbol(label) for label in classes],
            "tokens": tokens,
            "key": key,
        }
        ids_of = alphabet.encode(tuple(symbols))
        numbers = {label: i for i, label in enumerate(classes)}
        class_of = np.array([numbers[label] for label in named], np.int32)
        parts = ((ends, ids_of[ids], class_of[of_rows]) for ends, ids, of_rows in _read(first)[1])
        _write(second, parts, about, np.uint16 if len(alphabet) <= 2**16 else np.int32)
        os.replace(second, path)
    finally:
        first.unlink(missing_ok=True)
        second.unlink(missing_ok=True)
    return open_store(path)


def open_store(path: Path) -> Store:
    """Open what `encode` wrote, or say in one line what is wrong with it."""
    about, found = _read(path)
    parts = list(found)
    try:
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']!r:.40}")
        sizes = [len(labels) for _, _, labels in parts]
        words = StoredWords(
            parts=parts,
            starts=np.cumsum([0, *sizes[:-1]], dtype=np.int64),
            rows=np.arange(sum(sizes), dtype=np.int32),
            lengths=np.concatenate([np.diff(ends) for ends, _, _ in parts]),
        )
        return Store(
            path=path,
            words=words,
            labels=np.concatenate([labels for _, _, labels in parts], dtype=np.int64),
            alphabet=Alphabet(map(from_json_symbol, about["alphabet"])),
            classes=tuple(map(from_json_symbol, about["classes"])),
            tokens=str(about["tokens"]),
            key=str(about["key"]),
        )
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise _broken(path, error) from None


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


def _write(path: Path, parts: Iterable[Part], about: dict[str, Any], kind: Any) -> int:
    """Write an Arrow file; the result is the number of rows."""
    with extra("data"):
        import pyarrow as pa

    fields = [("ids", pa.list_(pa.from_numpy_dtype(kind))), ("label", pa.int32())]
    schema = pa.schema(fields, metadata={"kleene": json.dumps(about)})
    rows = 0
    try:
        path.unlink(missing_ok=True)  # of a killed run, or a link to a file of somebody else's
        with open(path, "xb") as file:
            with pa.ipc.new_file(file, schema) as writer:
                for ends, ids, labels in parts:
                    part = ends, ids.astype(kind), labels
                    words = pa.ListArray.from_arrays(*map(pa.array, part[:2]))
                    batch = pa.record_batch([words, pa.array(labels)], schema=schema)
                    writer.write_batch(batch, custom_metadata={"checksum": _checksum(part)})
                    rows += len(labels)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        reason = error.strerror or str(error)
        cure = "choose a folder that is writable and has room"
        raise DataError(f"cannot write the encoded rows, {path}: {reason}; {cure}") from error
    return rows


def _read(path: Path) -> tuple[Any, Iterator[Part]]:
    """What an Arrow file says about itself, and its batches."""
    with extra("data"):
        import pyarrow as pa

    wrong = (OSError, AttributeError, LookupError, TypeError, ValueError, pa.ArrowException)

    def parts() -> Iterator[Part]:
        for number in range(reader.num_record_batches):
            try:
                batch, about = reader.get_batch_with_custom_metadata(number)
                batch.validate(full=True)
                words, labels = batch.columns
                part = words.offsets.to_numpy(), words.values.to_numpy(), labels.to_numpy()
                if about[b"checksum"] != _checksum(part).encode():
                    raise ValueError(f"batch {number} is not what was written")
            except wrong as error:
                raise _broken(path, error) from None
            yield part

    try:
        open_regular(path).close()
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        return json.loads(reader.schema.metadata[b"kleene"]), parts()
    except (*wrong, RecursionError) as error:
        raise _broken(path, error) from None


def _checksum(part: Part) -> str:
    total = 0
    for array in part:
        total = zlib.crc32(np.ascontiguousarray(array).data, total)
    return str(total)


def _broken(path: Path, error: Exception) -> DataError:
    reason = " ".join(str(error).split())[:200]
    return DataError(f"{path} does not hold whole encoded rows ({reason}); delete it")
