"""Room for what a pass keeps for its way back, used again by the next pass.

A long pass keeps hundreds of megabytes. The system would hand them out page by page, zeroed, at
every step of training, which takes longer than writing them; so what a pass leaves is kept for the
next one. A place is free again when the last tensor on it is gone, whoever holds it.
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

LARGE = 1 << 21
"""Floats from which on a place is worth keeping: below, the allocator keeps it by itself."""
MOST = 1 << 28
"""Floats that are kept at most."""

_free: dict[int, NDArray[np.float32]] = {}  # by a number of their own, the latest last
_lock = threading.RLock()  # a place may come back while another is taken


def floats(*shape: int) -> Tensor:
    """`torch.empty` of the type that the loops write, whatever the default is."""
    return torch.empty(shape, dtype=torch.float32, device="cpu")


def lend(*shape: int) -> Tensor:
    """The same, on a place that was used before if there is one of about that size."""
    size = math.prod(shape)
    if size < LARGE:
        return floats(*shape)
    place = _taken(size)
    lent = place[:size].reshape(shape)
    weakref.finalize(lent, _give_back, place).atexit = False
    return torch.from_numpy(lent)


def packed(tensor: Tensor) -> Tensor:
    """The same, or a copy without gaps."""
    return tensor if tensor.is_contiguous() else lend(*tensor.shape).copy_(tensor)


def kept() -> int:
    """Floats on places that wait for another pass."""
    with _lock:
        return sum(len(place) for place in list(_free.values()))


def _taken(size: int) -> NDArray[np.float32]:
    with _lock:
        for key, place in reversed(list(_free.items())):
            if size <= len(place) <= 2 * size and _free.pop(key, None) is not None:
                return place
    return np.empty(size, np.float32)


def _give_back(place: NDArray[np.float32]) -> None:
    with _lock:
        if len(place) <= MOST:
            _free[id(place)] = place
        while kept() > MOST:
            _free.pop(next(iter(_free)))


def _after_fork() -> None:
    """Another thread may have held the lock, and is not there any more."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
