"""Matrix products of a few rows at a time, faster here than BLAS.

Every step multiplies by the same weights. They are packed once, as panels of one vector's width,
and stay in the cache; BLAS packs them again at every call.

A panel is multiplied with six rows of A at a time, then four, then one: six sums, the vector of the
panel and the broadcast element of A fill the sixteen registers of AVX2 (a vector is two of them)
and hide the latency of a multiply-add. The rows are written out one by one because Numba keeps
scalars in registers, but not the elements of a tuple or an array.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

from typing import Any

import numpy as np

from kleene.compiling import njit
from kleene.nn.fused.kernels.blas import gemm
from kleene.nn.fused.kernels.simd import (
    LANES,
    broadcast,
    get,
    load,
    load_one,
    put,
    reduce_sum,
    store,
    store_one,
)

FEW_ROWS, FEW_STEPS = 2, 3  # at or below either, packing costs more than it saves
FEW_WEIGHTS = 256  # at or below, `add_outer` is faster than BLAS
ZERO = np.float32(0.0)


@njit(error_model="numpy")
def worth_packing(rows: int, steps: int) -> bool:
    """Whether to pack weights that multiply `rows` rows, `steps` times."""
    return rows > FEW_ROWS and steps > FEW_STEPS


@njit(error_model="numpy")
def pack(m: int, k: int, B: int, P: int) -> None:
    """The panels of B, (k, m), as `times` takes them: padded(m) * k floats."""
    for j in range(0, m, LANES):
        for i in range(k):
            store(P, j * k + i * LANES, get(B, i * m + j, m - j))


@njit(error_model="numpy")
def pack_transposed(m: int, k: int, B: int, P: int) -> None:
    """The panels of the transpose of B, (m, k)."""
    for j in range(0, m, LANES):
        for lane in range(LANES):
            row = j + lane
            for i in range(k):
                store_one(P, j * k + i * LANES + lane, load_one(B, row * k + i) if row < m else 0.0)


@njit(error_model="numpy")
def _six_rows(
    s: Any, k: int, A: int, a: int, wide: int, P: int, p: int, C: int, c: int, m: int, left: int
) -> None:
    """Six rows of A times one panel, plus `s`; `left` floats from `c` on may be written."""
    s0, s1, s2, s3, s4, s5 = s, s, s, s, s, s
    for i in range(k):
        b, at = load(P, p + i * LANES), a + i
        s0 = s0 + broadcast(load_one(A, at)) * b
        s1 = s1 + broadcast(load_one(A, at + wide)) * b
        s2 = s2 + broadcast(load_one(A, at + 2 * wide)) * b
        s3 = s3 + broadcast(load_one(A, at + 3 * wide)) * b
        s4 = s4 + broadcast(load_one(A, at + 4 * wide)) * b
        s5 = s5 + broadcast(load_one(A, at + 5 * wide)) * b
    put(C, c, left, s0)
    put(C, c + m, left - m, s1)
    put(C, c + 2 * m, left - 2 * m, s2)
    put(C, c + 3 * m, left - 3 * m, s3)
    put(C, c + 4 * m, left - 4 * m, s4)
    put(C, c + 5 * m, left - 5 * m, s5)


@njit(error_model="numpy")
def _four_rows(
    s: Any, k: int, A: int, a: int, wide: int, P: int, p: int, C: int, c: int, m: int, left: int
) -> None:
    """The same for four rows."""
    s0, s1, s2, s3 = s, s, s, s
    for i in range(k):
        b, at = load(P, p + i * LANES), a + i
        s0 = s0 + broadcast(load_one(A, at)) * b
        s1 = s1 + broadcast(load_one(A, at + wide)) * b
        s2 = s2 + broadcast(load_one(A, at + 2 * wide)) * b
        s3 = s3 + broadcast(load_one(A, at + 3 * wide)) * b
    put(C, c, left, s0)
    put(C, c + m, left - m, s1)
    put(C, c + 2 * m, left - 2 * m, s2)
    put(C, c + 3 * m, left - 3 * m, s3)


@njit(error_model="numpy")
def _panel(
    bias: int, n: int, m: int, k: int, A: int, a: int, wide: int, P: int, C: int, c: int, j: int
) -> None:
    """One vector's width of C, from column `j` on.

    A row's last vector may be stored beyond its end, where the next row is written later, but never
    beyond the end of the last row.
    """
    row, p, left = 0, j * k, n * m - j
    s = get(bias, j, m - j) if bias else broadcast(0.0)
    while row + 6 <= n:
        _six_rows(s, k, A, a + row * wide, wide, P, p, C, c + row * m + j, m, left - row * m)
        row += 6
    while row + 4 <= n:
        _four_rows(s, k, A, a + row * wide, wide, P, p, C, c + row * m + j, m, left - row * m)
        row += 4
    while row < n:
        one = s
        for i in range(k):
            one = one + broadcast(load_one(A, a + row * wide + i)) * load(P, p + i * LANES)
        put(C, c + row * m + j, left - row * m, one)
        row += 1


@njit(error_model="numpy")
def panels(
    bias: int, n: int, m: int, k: int, A: int, a: int, wide: int, P: int, C: int, c: int
) -> None:
    """C = A B + bias of (n, k) and (k, m) by the panels of B; the rows of A are `wide` apart."""
    whole = m - m % LANES
    if whole < m:  # first, since it may overwrite the beginnings of rows
        _panel(bias, n, m, k, A, a, wide, P, C, c, whole)
    for j in range(0, whole, LANES):
        _panel(bias, n, m, k, A, a, wide, P, C, c, j)


@njit(error_model="numpy")
def _row(m: int, k: int, A: int, a: int, B: int, C: int, c: int) -> None:
    """One row, four vectors at a time."""
    j = 0
    while j + 4 * LANES <= m:
        s0, s1, s2, s3 = broadcast(0.0), broadcast(0.0), broadcast(0.0), broadcast(0.0)
        for i in range(k):
            x, at = broadcast(load_one(A, a + i)), i * m + j
            s0 = s0 + x * load(B, at)
            s1 = s1 + x * load(B, at + LANES)
            s2 = s2 + x * load(B, at + 2 * LANES)
            s3 = s3 + x * load(B, at + 3 * LANES)
        store(C, c + j, s0)
        store(C, c + j + LANES, s1)
        store(C, c + j + 2 * LANES, s2)
        store(C, c + j + 3 * LANES, s3)
        j += 4 * LANES
    while j < m:  # one vector in four sums, which hide the latency of a multiply-add
        s0, s1, s2, s3 = broadcast(0.0), broadcast(0.0), broadcast(0.0), broadcast(0.0)
        i, n = 0, m - j
        while i + 4 <= k:
            at = i * m + j
            s0 = s0 + broadcast(load_one(A, a + i)) * get(B, at, n)
            s1 = s1 + broadcast(load_one(A, a + i + 1)) * get(B, at + m, n)
            s2 = s2 + broadcast(load_one(A, a + i + 2)) * get(B, at + 2 * m, n)
            s3 = s3 + broadcast(load_one(A, a + i + 3)) * get(B, at + 3 * m, n)
            i += 4
        while i < k:
            s0 = s0 + broadcast(load_one(A, a + i)) * get(B, i * m + j, n)
            i += 1
        put(C, c + j, n, (s0 + s1) + (s2 + s3))
        j += LANES


@njit(error_model="numpy")
def _row_dots(m: int, k: int, A: int, a: int, B: int, C: int, c: int) -> None:
    """One row against the rows of B, four at a time."""
    j = 0
    while j + 4 <= m:
        s0, s1, s2, s3 = broadcast(0.0), broadcast(0.0), broadcast(0.0), broadcast(0.0)
        b = j * k
        for i in range(0, k, LANES):
            x = get(A, a + i, k - i)
            s0 = s0 + x * get(B, b + i, k - i)
            s1 = s1 + x * get(B, b + k + i, k - i)
            s2 = s2 + x * get(B, b + 2 * k + i, k - i)
            s3 = s3 + x * get(B, b + 3 * k + i, k - i)
        store_one(C, c + j, reduce_sum(s0))
        store_one(C, c + j + 1, reduce_sum(s1))
        store_one(C, c + j + 2, reduce_sum(s2))
        store_one(C, c + j + 3, reduce_sum(s3))
        j += 4
    while j < m:
        s0 = broadcast(0.0)
        for i in range(0, k, LANES):
            s0 = s0 + get(A, a + i, k - i) * get(B, j * k + i, k - i)
        store_one(C, c + j, reduce_sum(s0))
        j += 1


@njit(error_model="numpy")
def times(
    sgemm: int, n: int, m: int, k: int, A: int, a: int, B: int, P: int, C: int, c: int
) -> None:
    """C = A B of (n, k) and (k, m); `P` are the panels of B, or 0."""
    if n <= FEW_ROWS:
        for row in range(n):
            _row(m, k, A, a + row * k, B, C, c + row * m)
    elif P:
        panels(0, n, m, k, A, a, k, P, C, c)
    else:
        gemm(sgemm, False, False, n, m, k, A, a, k, B, 0, m, ZERO, C, c, m)


@njit(error_model="numpy")
def times_transposed(
    sgemm: int, n: int, m: int, k: int, A: int, a: int, wide: int, B: int, P: int, C: int, c: int
) -> None:
    """C = A B^T of (n, k) and (m, k); `P` are the panels of B^T, or 0."""
    if n <= FEW_ROWS:
        for row in range(n):
            _row_dots(m, k, A, a + row * wide, B, C, c + row * m)
    elif P:
        panels(0, n, m, k, A, a, wide, P, C, c)
    else:
        gemm(sgemm, False, True, n, m, k, A, a, wide, B, 0, k, ZERO, C, c, m)


@njit(error_model="numpy")
def add_outer(n: int, k: int, d: int, w: int, row: int, dh: int, dS: int) -> None:
    """dS += w^T dh of the rows from `row` on, for few states and hidden units."""
    for j in range(0, d, LANES):
        for i in range(k):
            s = get(dS, i * d + j, d - j)
            for r in range(row, row + n):
                s = s + broadcast(load_one(w, r * k + i)) * get(dh, r * d + j, d - j)
            put(dS, i * d + j, d - j, s)
