"""A cache of large float buffers, from one pass to the next.

A long pass stores hundreds of megabytes for its backward pass. The operating system hands such
memory out page by page, zeroed, at every training step, which takes longer than writing to it. So a
buffer is kept when the last tensor on it is gone, and a later pass uses it again.
"""

from __future__ import annotations

import math
import os
import threading
import weakref

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

MIN_CACHED = 1 << 21
"""Floats of the smallest cached buffer: smaller ones are cached by the allocator itself."""
MAX_CACHED = 1 << 28
"""Floats that the cache holds at most."""

_SAMPLE = torch.empty(0, dtype=torch.float32, device="cpu")
_free: dict[int, NDArray[np.float32]] = {}  # by id, the latest last
_lock = threading.RLock()  # a buffer may be released while another is taken


def empty(*shape: int) -> Tensor:
    """`torch.empty` in float32 on the CPU, whatever the defaults are."""
    return _SAMPLE.new_empty(shape)


def empty_cached(*shape: int) -> Tensor:
    """The same, on a cached buffer if there is one of about that size."""
    size = math.prod(shape)
    if size < MIN_CACHED:
        return empty(*shape)
    buffer = _take(size)
    view = buffer[:size].reshape(shape)
    weakref.finalize(view, _release, buffer).atexit = False
    return torch.from_numpy(view)


def cached_floats() -> int:
    """How many floats the cache holds."""
    with _lock:
        return sum(len(buffer) for buffer in list(_free.values()))


def empty_cache() -> None:
    """Give all cached buffers back to the operating system, as `torch.cuda.empty_cache` does.

    Up to 1 GiB is cached after long passes. Buffers in use are not touched.
    """
    with _lock:
        _free.clear()


def _take(size: int) -> NDArray[np.float32]:
    with _lock:
        for key, buffer in reversed(list(_free.items())):
            if size <= len(buffer) <= 2 * size and _free.pop(key, None) is not None:
                return buffer
    return np.empty(size, np.float32)


def _release(buffer: NDArray[np.float32]) -> None:
    with _lock:
        if len(buffer) <= MAX_CACHED:
            _free[id(buffer)] = buffer
        while cached_floats() > MAX_CACHED:
            _free.pop(next(iter(_free)))


def _after_fork() -> None:
    """Replace the lock: a thread that held it does not exist in the child."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
