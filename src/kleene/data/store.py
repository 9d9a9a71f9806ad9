"""Encoded rows on disk, for corpora that do not fit into memory: an Arrow file, memory-mapped.

The text is read once. Symbols and labels are numbered as they come, in as few bytes as their count
needs, and the last batch of the file says what the numbers stand for. The file belongs to one run:
it is written anew when the run goes on. In memory are the length and the class of each row.
"""

from __future__ import annotations

import json
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

BATCH_ROWS, BATCH_SYMBOLS = 2**12, 2**18  # a batch is full when it has so many of either
MAX_LABELS = 2**16


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredWords(Sequence[Ids]):
    """Encoded words in a memory-mapped file, or some of them."""

    parts: Sequence[tuple[NDArray[Any], NDArray[Any]]]
    """Of each batch, where its rows end among its bytes, from 0, and the numbers of its symbols."""
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

    words: StoredWords
    labels: NDArray[np.int32]
    alphabet: Alphabet
    classes: tuple[Label, ...]
    tokens: str

    @property
    def longest(self) -> int:
        """The length of the longest word."""
        return int(self.words.sizes.max(initial=0))


def encode(
    path: Path,
    examples: Iterable[Example],
    *,
    tokens: str,
    max_symbols: int | None = None,
    min_count: int = 1,
) -> None:
    """Write the store of some labelled examples."""
    with extra("data"):
        import pyarrow as pa

    symbols, labels, counts, rows = _Numbers(), _Numbers(), np.zeros(0, np.int64), 0
    schema = pa.schema([("symbols", pa.binary()), ("label", pa.uint16())])
    try:
        path.unlink(missing_ok=True)  # of a killed run, or a link to a file of somebody else
        with open(path, "xb") as file, pa.ipc.new_file(file, schema) as writer:
            for words, of_rows in _batched(examples):
                numbers = np.fromiter(map(symbols.__getitem__, chain.from_iterable(words)), "u4")
                counts = np.append(counts, np.zeros(len(symbols) - len(counts), np.int64))
                counts += np.bincount(numbers, minlength=len(counts))
                numbers = numbers.astype(np.min_scalar_type(len(symbols)))
                ends = np.cumsum([0, *map(len, words)], dtype=np.int32) * numbers.itemsize
                buffers = [None, pa.py_buffer(ends), pa.py_buffer(numbers)]
                column = pa.Array.from_buffers(pa.binary(), len(words), buffers)
                kinds = np.array([labels[label] for label in of_rows])
                if len(labels) > MAX_LABELS:
                    problem = f"more than {MAX_LABELS:,} different labels"
                    raise DataError(f"{problem}; check the column")
                batch = pa.record_batch([column, kinds.astype(np.uint16)], schema=schema)
                writer.write_batch(batch, custom_metadata={"width": str(numbers.itemsize)})
                rows += len(words)
            named = as_labels(typed_labels(list(labels)))
            warn_of_missing(named)
            classes = sorted_classes(named)
            check_repetition(len(classes), rows)
            found = dict(zip(symbols, counts.tolist(), strict=True))
            alphabet = Alphabet.from_counts(found, max_symbols, min_count)
            about = {
                "alphabet": [to_json_symbol(symbol) for symbol in alphabet.symbols],
                "ids": alphabet.encode(tuple(symbols)).tolist(),
                "classes": [to_json_symbol(label) for label in classes],
                "class_of": [classes.index(label) for label in named],
                "tokens": tokens,
            }
            writer.write_batch(batch.slice(0, 0), custom_metadata={"about": json.dumps(about)})
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
            cure = "choose a folder that is writable and has room"
            raise DataError(f"cannot write the encoded rows, {path}: {reason}; {cure}") from error
        raise


def open_store(path: Path) -> Store:
    """Open what `encode` wrote; of several processes, every one does."""
    with extra("data"):
        import pyarrow as pa

    try:
        open_regular(path).close()
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        last = reader.num_record_batches - 1
        about = json.loads(reader.get_batch_with_custom_metadata(last)[1][b"about"])
        read = [_part(*reader.get_batch_with_custom_metadata(number)) for number in range(last)]
    except (OSError, LookupError, TypeError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:200]
        cure = "every process must see the folder; begin again"
        raise DataError(f"cannot read the encoded rows in {path} ({reason}); {cure}") from None
    ends, numbers, labels = zip(*read, strict=True)
    sizes = [np.diff(e) // n.itemsize for e, n in zip(ends, numbers, strict=True)]
    return Store(
        words=StoredWords(
            parts=[*zip(ends, numbers, strict=True)],
            starts=np.cumsum([0, *map(len, labels[:-1])]),
            ids=np.array(about["ids"], np.int64),
            sizes=np.concatenate(sizes),
            rows=np.arange(sum(map(len, sizes)), dtype=np.int32),
        ),
        labels=np.array(about["class_of"], np.int32)[np.concatenate(labels)],
        alphabet=Alphabet(map(from_json_symbol, about["alphabet"])),
        classes=tuple(map(from_json_symbol, about["classes"])),
        tokens=about["tokens"],
    )


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


def _part(batch: Any, about: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The ends of the rows of a batch, the numbers of their symbols, and those of their labels."""
    _, ends, content = batch.column(0).buffers()
    numbers = np.frombuffer(content or b"", f"u{int(about[b'width'])}")
    return np.frombuffer(ends, np.int32, len(batch) + 1), numbers, batch.column(1).to_numpy()
