"""From a text file of any size to a store of encoded words: two passes, one example in memory.

The first pass counts symbols and labels, which make the alphabet and the classes; the second
encodes. (Where it has to be guessed how texts are split, a look for white space comes before.)
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from kleene.data.alphabet import Alphabet, Ids, count_symbols
from kleene.data.layout import Example
from kleene.data.store import Store, open_store, write_store
from kleene.data.validate import as_labels, check_repetition, sorted_classes, warn_of_missing
from kleene.data.words import guess_tokens, typed_labels
from kleene.errors import DataError
from kleene.files import open_regular
from kleene.machine import Label, Symbol

Read = Callable[[str | None], Iterator[Example]]
"""Opens the examples again from the start, texts split in the way named, or unsplit."""
MOST_LABELS = 100_000
_CHUNK = 256  # words encoded at once


def tokens_of(read: Read, tokens: str | None) -> tuple[str, bool]:
    """How texts are split, as `read_data` decides it, and whether that is a guess."""
    first = next(read(None)).word
    if not isinstance(first, str):
        return "symbols", False
    return (
        (tokens, False) if tokens else (guess_tokens(example.word for example in read(None)), True)
    )


def encode(
    path: Path,
    read: Read,
    *,
    tokens: str,
    key: str,
    max_symbols: int | None = None,
    min_count: int = 1,
) -> Store:
    """Write the store of some examples, or open it where it is there already.

    `key` tells one set of examples from another.
    """
    if path.exists():
        try:
            store = open_store(path)
        except DataError:
            path.unlink()
        else:
            if store.key == key:
                return store
    split = None if tokens == "symbols" else tokens
    counts: Counter[Symbol] = Counter()
    labels: dict[Label | None, None] = {}
    rows = 0
    for example in read(split):
        count_symbols(counts, example.word)
        labels[example.label] = None
        rows += 1
        if len(labels) > MOST_LABELS:
            raise DataError(f"more than {MOST_LABELS:,} distinct labels; check the label column")
    named = dict(zip(labels, as_labels(typed_labels(list(labels))), strict=True))
    warn_of_missing(named.values())
    classes = sorted_classes(named.values())
    check_repetition(len(classes), rows)
    places = {label: i for i, label in enumerate(classes)}
    numbers = {text: places[label] for text, label in named.items()}
    alphabet = Alphabet.from_counts(counts, max_symbols, min_count)
    return write_store(
        path,
        _encoded(read(split), alphabet, numbers),
        alphabet=alphabet,
        classes=classes,
        tokens=tokens,
        key=key,
    )


def file_digest(path: str | Path, *options: object) -> str:
    """The SHA-256 digest of a file's content and of the options it is read with."""
    try:
        with open_regular(path) as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"cannot read {path}: {reason}; check its name and permissions") from None
    return hashlib.sha256(repr((content, *options)).encode()).hexdigest()


def _encoded(
    examples: Iterable[Example], alphabet: Alphabet, numbers: dict[Label | None, int]
) -> Iterator[tuple[Ids, int]]:
    left = iter(examples)
    while chunk := list(islice(left, _CHUNK)):
        encoded = alphabet.encode_many([example.word for example in chunk])
        for ids, example in zip(encoded, chunk, strict=True):
            yield ids, numbers[example.label]
