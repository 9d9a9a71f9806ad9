"""How the kernels are compiled, and where the result is cached.

Numba caches compiled code beside the source, or in the user's cache folder if that cannot be
written; if neither can, every process compiles for itself.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from kleene.compiling import njit


@functools.cache
def _digest() -> str:
    """Of all files in this folder: the kernels are compiled from several of them."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


_kernels: list[Any] = []


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that releases Python's global lock and is cached on disk."""
    options: Any = {"nogil": True, "error_model": "numpy"}
    try:
        compiled: Any = njit(function, cache=True, **options)
    except RuntimeError:  # no folder can be written
        compiled = njit(function, **options)
    with suppress(AttributeError):
        # Numba compares the time stamp of one file; the kernels are made of several.
        compiled._cache._cache_file._source_stamp = _digest()
    _kernels.append(compiled)
    return compiled


def is_cached() -> bool:
    """Whether all kernels are in Numba's cache, for this version of their source."""
    try:
        return all(one._cache._cache_file._load_index() for one in _kernels)
    except AttributeError:  # no cache, or another version of Numba
        return False
