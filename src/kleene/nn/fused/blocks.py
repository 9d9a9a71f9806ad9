"""Split the sequences of a batch among threads; each thread runs its own through all of time."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import torch

from kleene.nn.fused.buffers import workspace
from kleene.nn.fused.kernels.blas import one_thread, use_one_thread
from kleene.nn.fused.kernels.records import Block, place
from kleene.nn.fused.kernels.team import run_together
from kleene.nn.fused.layout import Layout

MIN_WORK = 4_000_000  # multiplications below which a second thread costs more than it saves
WORKSPACE, FIRST, END = (place(Block, name) for name in ("workspace", "first", "end"))
Blocks: TypeAlias = Sequence[tuple[int, int]]
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def split(layout: Layout, batch: int, weights: int) -> Blocks:
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


def run(compiled: Any, calls: Sequence[array[int]]) -> None:
    """Call a compiled function with each of the arguments, on a thread each."""
    with one_thread():
        places = [one.buffer_info()[0] for one in calls]
        if len(places) == 1:
            compiled(places[0])
        elif not run_together(compiled, places):
            futures = [_pool(len(places) - 1).submit(compiled, place) for place in places[1:]]
            try:
                compiled(places[0])
            finally:
                for future in futures:
                    future.result()


def run_blocks(
    compiled: Any, calls: Sequence[array[int]], blocks: Blocks, floats: Callable[[int], int]
) -> None:
    """The same for blocks of sequences; `floats` says how large a workspace so many rows need."""
    rooms = []
    for number, (call, (first, end)) in enumerate(zip(calls, blocks, strict=True)):
        rooms.append(workspace(floats(end - first), number))
        call[WORKSPACE], call[FIRST], call[END] = rooms[-1].data_ptr(), first, end
    run(compiled, calls)  # while the rooms exist


def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads of our own, where torch has no OpenMP."""
    key = (os.getpid(), threads)  # threads do not survive a fork
    if key not in _pools:
        _pools[key] = ThreadPoolExecutor(
            threads, thread_name_prefix="kleene", initializer=use_one_thread
        )
    return _pools[key]
