"""Room for what a pass writes, in large pages where the system has them.

A long pass writes hundreds of megabytes once. In pages of four kilobytes the system spends more
time on handing them out than the pass on writing them.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable

import torch
from torch import Tensor

PAGE = 2 << 20
LARGE = 4 * PAGE  # bytes from which on it is worth asking
_MADV_HUGEPAGE = 14


@functools.cache
def _advise() -> Callable[[int, int], object]:
    """Ask for large pages from an address on; wherever that cannot be asked, nothing happens."""
    madvise = getattr(ctypes.CDLL(None), "madvise", None) if sys.platform == "linux" else None
    if madvise is None:
        return lambda address, size: None
    return lambda address, size: madvise(
        ctypes.c_void_p(address), ctypes.c_size_t(size), _MADV_HUGEPAGE
    )


def empty(*shape: int) -> Tensor:
    """`torch.empty`, whose pages nobody has touched yet."""
    made = torch.empty(shape)
    if made.nbytes >= LARGE:
        first = -(-made.data_ptr() // PAGE) * PAGE
        last = (made.data_ptr() + made.nbytes) // PAGE * PAGE
        _advise()(first, last - first)
    return made


def contiguous(tensor: Tensor) -> Tensor:
    """The same, or a copy without gaps."""
    return tensor if tensor.is_contiguous() else empty(*tensor.shape).copy_(tensor)
