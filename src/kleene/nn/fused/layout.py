"""The packed layout of a batch: the same for every batch of the same lengths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Layout:
    """Step t holds the first `sizes[t]` sequences, from row `starts[t]` on."""

    sizes: Any  # NumPy, int64; time
    starts: Any  # NumPy, int64; time
    addresses: tuple[int, int]  # of both arrays
    steps: int  # rows in all
    widest: int  # sequences with at least one step
    valid: bool  # sizes do not increase and are at least 1

    @cached_property
    def time(self) -> int:
        """The number of time steps."""
        return len(self.sizes)


@lru_cache(maxsize=64)
def layout(batch_sizes: tuple[int, ...]) -> Layout:
    """The layout of the given numbers of sequences per time step."""
    sizes = np.array(batch_sizes, np.int64)
    starts = sizes.cumsum() - sizes
    return Layout(
        sizes=sizes,
        starts=starts,
        addresses=(sizes.ctypes.data, starts.ctypes.data),
        steps=int(sizes.sum()),
        widest=int(sizes[0]) if len(sizes) else 0,
        valid=bool(len(sizes) and sizes[-1] >= 1 and (sizes[1:] <= sizes[:-1]).all()),
    )
