"""How the loops are compiled, and where the result is kept.

Numba keeps compiled code beside the source, or in the user's cache folder where that cannot be
written; where neither can, every process compiles for itself.
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
    """Of the files that the loops are made of: those that compile, and what they work on."""
    texts = {path.name: path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))}
    compiled = [text for name, text in texts.items() if b"numba" in text or name == "job.py"]
    return hashlib.sha256(b"".join(compiled)).hexdigest()


def kernel(function: Callable[..., Any]) -> Any:
    """A compiled function that leaves Python's lock alone and is kept on disk."""
    options: Any = {"nogil": True, "error_model": "numpy"}
    try:
        compiled: Any = numba.njit(function, cache=True, **options)
    except RuntimeError:  # nowhere to write
        return numba.njit(function, **options)
    with suppress(AttributeError):
        # Numba looks at the time stamp of one file; the loops are made of several.
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
