"""Products too small for BLAS, whose calls cost more than their work; and the choice."""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import numpy as np
from numba import njit

from kleene.nn.fused.blas import gemm
from kleene.nn.fused.lanes import LANES, full, get, load, load_one, put, store, store_one, total

ZERO = np.float32(0.0)
FEW_ROWS, FEW_WEIGHTS = 2, 1024  # at or below either, BLAS is slower


@njit(error_model="numpy")
def _times(n: int, m: int, k: int, A: int, a: int, B: int, C: int, c: int) -> None:
    for row in range(n):
        left, to = a + row * k, c + row * m
        j = 0
        while j + 4 * LANES <= m:
            s0, s1, s2, s3 = full(0.0), full(0.0), full(0.0), full(0.0)
            for i in range(k):
                x, at = full(load_one(A, left + i)), i * m + j
                s0 = s0 + x * load(B, at)
                s1 = s1 + x * load(B, at + LANES)
                s2 = s2 + x * load(B, at + 2 * LANES)
                s3 = s3 + x * load(B, at + 3 * LANES)
            store(C, to + j, s0)
            store(C, to + j + LANES, s1)
            store(C, to + j + 2 * LANES, s2)
            store(C, to + j + 3 * LANES, s3)
            j += 4 * LANES
        while j < m:
            s0 = full(0.0)
            for i in range(k):
                s0 = s0 + full(load_one(A, left + i)) * get(B, i * m + j, m - j)
            put(C, to + j, m - j, s0)
            j += LANES


@njit(error_model="numpy")
def _dots(n: int, m: int, k: int, A: int, a: int, wide: int, B: int, C: int, c: int) -> None:
    for row in range(n):
        left, to = a + row * wide, c + row * m
        j = 0
        while j + 4 <= m:
            s0, s1, s2, s3 = full(0.0), full(0.0), full(0.0), full(0.0)
            b = j * k
            for i in range(0, k, LANES):
                x = get(A, left + i, k - i)
                s0 = s0 + x * get(B, b + i, k - i)
                s1 = s1 + x * get(B, b + k + i, k - i)
                s2 = s2 + x * get(B, b + 2 * k + i, k - i)
                s3 = s3 + x * get(B, b + 3 * k + i, k - i)
            store_one(C, to + j, total(s0))
            store_one(C, to + j + 1, total(s1))
            store_one(C, to + j + 2, total(s2))
            store_one(C, to + j + 3, total(s3))
            j += 4
        while j < m:
            s0 = full(0.0)
            for i in range(0, k, LANES):
                s0 = s0 + get(A, left + i, k - i) * get(B, j * k + i, k - i)
            store_one(C, to + j, total(s0))
            j += 1


@njit(error_model="numpy")
def times(sgemm: int, n: int, m: int, k: int, A: int, a: int, B: int, C: int, c: int) -> None:
    """C = A B of (n, k) and (k, m), all contiguous."""
    if n <= FEW_ROWS or k * m <= FEW_WEIGHTS:
        _times(n, m, k, A, a, B, C, c)
    else:
        gemm(sgemm, False, False, n, m, k, A, a, k, B, 0, m, ZERO, C, c, m)


@njit(error_model="numpy")
def times_transposed(
    sgemm: int, n: int, m: int, k: int, A: int, a: int, wide: int, B: int, C: int, c: int
) -> None:
    """C = A B^T of (n, k) and (m, k); the rows of A are `wide` apart."""
    if n <= FEW_ROWS or k * m <= FEW_WEIGHTS:
        _dots(n, m, k, A, a, wide, B, C, c)
    else:
        gemm(sgemm, False, True, n, m, k, A, a, wide, B, 0, k, ZERO, C, c, m)
