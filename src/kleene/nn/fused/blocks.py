"""Split the sequences of a batch among threads; each thread runs its own through all of time."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from kleene.nn.fused.kernels.blas import one_thread, use_one_thread
from kleene.nn.fused.kernels.team import run_together
from kleene.nn.fused.layout import Layout

MIN_WORK = 4_000_000  # multiplications below which a second thread costs more than it saves
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def split(layout: Layout, batch: int, weights: int) -> list[tuple[int, int]]:
    """Blocks of sequences (first, end) of about equal work, at most one per thread."""
    steps = layout.steps
    threads = min(torch.get_num_threads(), batch, 1 + steps * weights // MIN_WORK)
    if threads <= 1:
        return [(0, batch)]
    lengths = (layout.sizes[:, None] > np.arange(batch)).sum(0)  # longest first
    done = lengths.cumsum()
    cuts = [int(np.searchsorted(done, steps * i / threads)) + 1 for i in range(1, threads)]
    edges = sorted({0, batch, *(min(cut, batch) for cut in cuts)})
    return list(pairwise(edges))


def run(kernel: Any, arguments: Sequence[array[int]]) -> None:
    """Call a kernel with the arguments of every block, on a thread each."""
    with one_thread():
        places = [one.buffer_info()[0] for one in arguments]
        if len(places) == 1:
            kernel(places[0])
        elif not run_together(kernel, places):
            futures = [_pool(len(places) - 1).submit(kernel, place) for place in places[1:]]
            try:
                kernel(places[0])
            finally:
                for future in futures:
                    future.result()


def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads of our own, where torch has no OpenMP."""
    key = (os.getpid(), threads)  # threads do not survive a fork
    if key not in _pools:
        _pools[key] = ThreadPoolExecutor(
            threads, thread_name_prefix="kleene", initializer=use_one_thread
        )
    return _pools[key]
