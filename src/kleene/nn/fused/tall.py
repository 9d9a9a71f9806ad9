"""Tall, narrow products, on which BLAS is slow when the states are few.

Rows are taken in chunks that stay in the cache.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import numpy as np
from numba import njit

from kleene.nn.fused.blas import gemm
from kleene.nn.fused.compile import kernel
from kleene.nn.fused.lanes import LANES, full, get, load_one, put
from kleene.nn.fused.small import FEW_WEIGHTS, times, times_transposed

CHUNK, ONE = 512, np.float32(1.0)


@kernel
def mix(sgemm: int, k: int, d: int, w: int, S: int, h: int, first: int, end: int) -> None:
    """h = w S of the rows from `first` to `end`."""
    for row in range(first, end, CHUNK):
        times(sgemm, min(CHUNK, end - row), d, k, w, row * k, S, h, row * d)


@njit(error_model="numpy")
def _add_outer(n: int, k: int, d: int, w: int, row: int, dh: int, dS: int) -> None:
    """dS += w^T dh, for few states and hidden units."""
    for j in range(0, d, LANES):
        for i in range(k):
            s = get(dS, i * d + j, d - j)
            for r in range(row, row + n):
                s = s + full(load_one(w, r * k + i)) * get(dh, r * d + j, d - j)
            put(dS, i * d + j, d - j, s)


@kernel
def mix_back(
    sgemm: int, k: int, d: int, w: int, S: int, dh: int, dw: int, dS: int, first: int, end: int
) -> None:
    """dw = dh S^T, and dS += w^T dh."""
    for row in range(first, end, CHUNK):
        n = min(CHUNK, end - row)
        if dw:
            times_transposed(sgemm, n, k, d, dh, row * d, d, S, dw, row * k)
        if k * d <= FEW_WEIGHTS // 4:
            _add_outer(n, k, d, w, row, dh, dS)
        else:
            gemm(sgemm, True, False, k, d, n, w, row * k, k, dh, row * d, d, ONE, dS, 0, d)
