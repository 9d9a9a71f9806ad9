"""A fingerprint of encoded rows: tells later whether a row was among them, in little space.

Every row is hashed to 64 bits. The sample, the smallest hashes (a bottom-k sketch), estimates how
many rows of another set belong to it. Up to `MAX_SAMPLE` rows the sample is complete and the answer
exact.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.data.batch import Encoded
from kleene.data.lines import reading
from kleene.files import open_regular

MAX_SAMPLE = 4096


def row_hashes(words: Iterable[Encoded]) -> NDArray[np.uint64]:
    """The hash of each encoded row."""
    hashes = bytearray()  # to join a list of them takes eight times the memory
    for word in words:
        hashes += hashlib.blake2b(np.asarray(word, dtype="<i4").tobytes(), digest_size=8).digest()
    return np.frombuffer(hashes, dtype="<u8").astype(np.uint64)


def fingerprint(words: Iterable[Encoded]) -> dict[str, Any]:
    """Number and sample of some rows, as plain values for JSON."""
    hashes = row_hashes(words)
    distinct = np.unique(hashes)
    sample = distinct[:MAX_SAMPLE].astype("<u8")
    return {
        "rows": len(hashes),
        "sample": base64.b64encode(sample.tobytes()).decode(),
        "sample_is_complete": len(distinct) <= MAX_SAMPLE,
    }


def file_digest(path: str | Path, *options: object) -> str:
    """The SHA-256 digest of a file's content and of the options it is read with."""
    with reading(path), open_regular(path) as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    return hashlib.sha256(repr((content, *options)).encode()).hexdigest()


def known_share(words: Iterable[Encoded], print_of: Mapping[str, Any]) -> float | None:
    """The share of `words` that were among the rows of a fingerprint.

    An estimate from the rows that fall into the sample, where that is not complete; None where
    none does.
    """
    hashes = row_hashes(words)
    sample = np.frombuffer(base64.b64decode(print_of["sample"]), dtype="<u8")
    if not print_of["sample_is_complete"]:
        hashes = hashes[hashes <= sample[-1]]
    return float(np.isin(hashes, sample).mean()) if len(hashes) else None
