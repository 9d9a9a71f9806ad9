"""Where the steps of packed sequences lie: the same for every batch of the same lengths."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np


class Layout(NamedTuple):
    """Step t holds the first `sizes[t]` sequences, from row `starts[t]` on."""

    sizes: Any  # NumPy; time
    starts: Any  # NumPy; time
    places: tuple[int, int]  # where the numbers of both are
    steps: int  # of all sequences
    widest: int  # sequences that have a step
    sound: bool  # longest first, and nothing empty


@lru_cache(maxsize=64)
def layout(batch_sizes: tuple[int, ...]) -> Layout:
    """The layout of so many running sequences a step."""
    sizes = np.array(batch_sizes, np.int64)
    starts = sizes.cumsum() - sizes
    return Layout(
        sizes=sizes,
        starts=starts,
        places=(sizes.ctypes.data, starts.ctypes.data),
        steps=int(sizes.sum()),
        widest=int(sizes[0]) if len(sizes) else 0,
        sound=bool(len(sizes) and sizes[-1] >= 1 and (sizes[1:] <= sizes[:-1]).all()),
    )
