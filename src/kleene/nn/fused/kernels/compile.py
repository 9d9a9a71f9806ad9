"""How the kernels are compiled, and where the result is cached.

Numba caches compiled code beside the source, or in the user's cache folder if that cannot be
written; if neither can, every process compiles for itself.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numba


@functools.cache
def _digest() -> str:
    """Of all files in this folder: the kernels are compiled from several of them."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that releases Python's global lock and is cached on disk."""
    options: Any = {"nogil": True, "error_model": "numpy"}
    try:
        compiled: Any = numba.njit(function, cache=True, **options)
    except RuntimeError:  # no folder can be written
        return numba.njit(function, **options)
    with suppress(AttributeError):
        # Numba compares the time stamp of one file; the kernels are made of several.
        compiled._cache._cache_file._source_stamp = _digest()
    return compiled


@contextmanager
def announced() -> Iterator[None]:
    """Tell a person at a terminal why the first call takes its time; say nothing if it does not."""

    def tell() -> None:
        print("kleene: compiling its kernels, once on this machine ...", file=sys.stderr)

    if not sys.stderr.isatty():
        yield
        return
    timer = threading.Timer(1.5, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
