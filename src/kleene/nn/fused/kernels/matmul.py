"""Matrix products of a few rows at a time, faster here than BLAS.

Every step multiplies by the same weights. They are packed once, as panels of one vector's width,
and stay in the cache; BLAS packs them again at every call. Gradients of weights are sums of outer
products, whose rows need no packing. Both are cut into tiles (`tiles`).
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import numpy as np

from kleene.compiling import njit
from kleene.nn.fused.kernels.blas import gemm
from kleene.nn.fused.kernels.records import FEW_ROWS, FEW_STEPS
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
from kleene.nn.fused.kernels.tiles import VECTORS, outer_product, panel_product

STEPS, COLUMNS = 128, 48  # of A in `add_outer` at a time: they stay in the cache
ZERO = np.float32(0.0)
HALF = LANES // 2  # lanes of a row's end that has no more floats: half the work
_panels, _panel = panel_product(VECTORS), panel_product(1)
_last_panel, _half_panel = panel_product(1, last=LANES), panel_product(1, last=HALF)
_vectors, _vector = outer_product(VECTORS), outer_product(1)
_last_vector, _half_vector = outer_product(1, last=LANES), outer_product(1, last=HALF)


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
def panels(
    bias: int, n: int, m: int, k: int, A: int, a: int, wide: int, P: int, C: int, c: int
) -> None:
    """C = A B + bias of (n, k) and (k, m) by the panels of B; the rows of A are `wide` apart."""
    s, t, j, whole = broadcast(0.0), broadcast(0.0), 0, m - m % LANES
    if whole < m:  # first, since it may overwrite the beginnings of rows
        if bias:
            s = get(bias, whole, m - whole)
        left = n * m - whole
        if m - whole <= HALF:
            _half_panel(s, t, n, k, A, a, wide, P, whole * k, C, c + whole, m, left)
        else:
            _last_panel(s, t, n, k, A, a, wide, P, whole * k, C, c + whole, m, left)
    while j + VECTORS * LANES <= whole:
        if bias:
            s, t = load(bias, j), load(bias, j + (VECTORS - 1) * LANES)
        else:
            s = broadcast(0.0)
        _panels(s, t, n, k, A, a, wide, P, j * k, C, c + j, m, 0)
        j += VECTORS * LANES
    if j < whole:
        s = load(bias, j) if bias else broadcast(0.0)
        _panel(s, t, n, k, A, a, wide, P, j * k, C, c + j, m, 0)


@njit(error_model="numpy")
def add_outer(
    n: int, m: int, rows: int, A: int, a: int, a_wide: int, B: int, b: int, b_wide: int, C: int
) -> None:
    """C += A^T B of (rows, n) and (rows, m), rows `a_wide` and `b_wide` apart."""
    if m == 1:  # a column is as good as a row, which has vectors
        n, m, A, a, a_wide, B, b, b_wide = m, n, B, b, b_wide, A, a, a_wide
    whole = m - m % LANES
    for row in range(0, rows, STEPS):
        steps, y = min(STEPS, rows - row), b + row * b_wide
        for i in range(0, n, COLUMNS):
            count, x, j = min(COLUMNS, n - i), a + row * a_wide + i, 0
            while j + VECTORS * LANES <= whole:
                _vectors(count, steps, A, x, a_wide, B, y + j, b_wide, C, i * m + j, m, 0)
                j += VECTORS * LANES
            if j < whole:
                _vector(count, steps, A, x, a_wide, B, y + j, b_wide, C, i * m + j, m, 0)
            at, left = i * m + whole, m - whole
            if left > HALF:
                _last_vector(count, steps, A, x, a_wide, B, y + whole, b_wide, C, at, m, left)
            elif left:
                _half_vector(count, steps, A, x, a_wide, B, y + whole, b_wide, C, at, m, left)


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
