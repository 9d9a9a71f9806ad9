"""Matrix products: by tiles for a few rows at a time, faster here than BLAS, else by torch's BLAS.

    C[r] = start[r] + sum_i A[r, i] B[i]         r: some rows; B[i], C[r]: a vector of columns

Every step multiplies by the same weights. They are packed once, as panels of one vector's width,
and stay in the cache; BLAS packs them again at every call. Gradients of weights are sums of outer
products, whose rows need no packing. Both are cut into tiles whose sums are all in registers: for
every i, a tile loads the vector B[i] once and multiplies it with one number of every row. The sums
are independent of one another: a multiply-add takes four cycles, and while it is under way those of
other sums begin. The size of a tile follows from the number of registers; rows that are left over
go through smaller tiles.

The loops over the rows of a tile run when the code is compiled, and write it: Numba
keeps single variables in registers, but not the elements of a tuple or an array.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from llvmlite import binding, ir
from numba import config, types
from numba.core import cgutils
from numba.extending import get_cython_function_address

from kleene.nn.fused.kernels.compile import inner
from kleene.nn.fused.kernels.records import LANES
from kleene.nn.fused.kernels.simd import (
    FLOAT,
    WHOLE,
    address,
    broadcast,
    constant,
    emitted,
    floats,
    get,
    load,
    load_one,
    multiply_add,
    place_at,
    put,
    read,
    reduce_sum,
    simd,
    splat,
    store,
    store_one,
    write,
)

_FEATURES = config.CPU_FEATURES or binding.get_host_cpu_features().flatten()
ROWS = 8 if "+avx512f" in _FEATURES else 6
"""Of the largest tile. AVX2 has 16 registers, and a vector takes two: six sums, one vector and a
number. AVX-512 has 32 registers of twice the size."""
FEW_ROWS, FEW_STEPS = 2, 3  # at or below either, packing weights for one pass does not pay
STEPS, COLUMNS = 128, 48  # of A in `add_outer` at a time: they stay in the cache
ZERO = np.float32(0.0)
_POINTER = ir.PointerType(ir.IntType(8))


@functools.cache
def torch_library() -> ctypes.CDLL | None:
    """The library of torch's operations on CPUs, with those that it is linked to."""
    for path in sorted((Path(torch.__file__).parent / "lib").glob("*torch_cpu*")):
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    return None


@functools.cache
def sgemm_address() -> int:
    """The address of the BLAS function `sgemm_`, an argument of the kernels: they are cached.

    torch exports it where it was built on MKL or OpenBLAS; elsewhere SciPy's is used.
    """
    entry = getattr(torch_library(), "sgemm_", None)
    if entry is None:
        return int(get_cython_function_address("scipy.linalg.cython_blas", "sgemm"))
    return ctypes.cast(entry, ctypes.c_void_p).value or 0


@functools.cache
def limit_threads() -> Callable[[int], int]:
    """A function that sets the BLAS threads of its thread and returns their number before."""
    limit = getattr(torch_library(), "MKL_Set_Num_Threads_Local", None)
    return limit or (lambda threads: 0)


@emitted(
    types.void, address, types.boolean, types.boolean, *[types.intp] * 9, types.float32,
    *[types.intp] * 3,
)  # fmt: skip
def gemm(
    builder, function, transpose_a, transpose_b, m, n, k,
    a, a_index, a_row, b, b_index, b_row, beta, c, c_index, c_row,
):  # fmt: skip
    """C = op(A) op(B) + beta C, row-major: (m, k) times (k, n); an index and a row stride each.

    Fortran is column-major, so it is called for C^T = op(B)^T op(A)^T.
    """

    def by_reference(value: Any) -> Any:
        slot = cgutils.alloca_once(builder, value.type)
        builder.store(value, slot)
        return builder.bitcast(slot, _POINTER)

    def integer(value: Any) -> Any:
        return by_reference(builder.trunc(value, ir.IntType(32)))

    def letter(flag: Any) -> Any:
        kind = ir.IntType(8)
        return by_reference(
            builder.select(flag, ir.Constant(kind, ord("T")), ir.Constant(kind, ord("N")))
        )

    def matrix(base: Any, index: Any) -> Any:
        return builder.bitcast(place_at(builder, base, index, FLOAT), _POINTER)

    fortran = [
        letter(transpose_b), letter(transpose_a), integer(n), integer(m), integer(k),
        by_reference(ir.Constant(FLOAT, 1.0)), matrix(b, b_index), integer(b_row),
        matrix(a, a_index), integer(a_row), by_reference(beta), matrix(c, c_index), integer(c_row),
    ]  # fmt: skip
    kind = ir.FunctionType(ir.VoidType(), [_POINTER] * len(fortran))
    builder.call(builder.inttoptr(function, ir.PointerType(kind)), fortran)


def _whole(number: int) -> Any:
    return ir.Constant(WHOLE, number)


def _each_tile(builder: Any, n: Any) -> Any:
    """The first row and the number of rows of every tile, in a loop for each number."""
    done = _whole(0)
    for rows in (ROWS, 4, 2, 1):
        last = builder.sub(n, _whole(rows - 1))
        with cgutils.for_range_slice(builder, done, last, _whole(rows), inc=True) as (row, _):
            yield row, rows
        done = builder.sub(n, builder.srem(builder.sub(n, done), _whole(rows)))


def _number(builder: Any, base: Any, index: Any) -> Any:
    return builder.load(place_at(builder, base, index, FLOAT), align=4)


def _sum(builder: Any, starts: Any, steps: Any, number: Any, vector: Any) -> Any:
    """The sums of all rows, by what they start with; `number(r, i)` and `vector(i)` load."""
    sums = [cgutils.alloca_once_value(builder, start) for start in starts]
    with cgutils.for_range(builder, steps) as loop:
        b = vector(loop.index)
        for r, one in enumerate(sums):
            x = splat(builder, number(r, loop.index))
            builder.store(multiply_add(builder, x, b, builder.load(one)), one)
    return [builder.load(one) for one in sums]


@emitted(types.void, simd, *[types.intp] * 11)
def _panel(builder, s, n, k, A, a, wide, P, p, C, c, m, left):
    """One panel of C = A B plus `s`.

    The `n` rows of A have `k` numbers and are `wide` apart, those of C `m`. A panel that ends
    beyond the rows of C may write the beginning of the next row, but no more than `left` floats
    from `c` on.
    """
    add, sub, times = builder.add, builder.sub, builder.mul
    for row, rows in _each_tile(builder, n):
        at, to = add(a, times(row, wide)), times(row, m)

        def number(r, i, at=at):
            return _number(builder, A, add(add(at, times(wide, _whole(r))), i))

        def vector(i):
            return builder.load(
                place_at(builder, P, add(p, times(i, _whole(LANES))), floats()), align=4
            )

        for r, found in enumerate(_sum(builder, [s] * rows, k, number, vector)):
            there = add(to, times(m, _whole(r)))
            write(builder, place_at(builder, C, add(c, there), floats()), sub(left, there), found)


def _outer_product(last: bool) -> Any:
    """One vector of C += A^T B, (n, steps) times (steps, m).

    A step reads a row of A, `n` numbers, and one of B; they are `a_wide` and `b_wide` apart. In the
    `last` vector of a row the first `count` floats belong to the rows of B and C.
    """

    @emitted(types.void, *[types.intp] * 12)
    def product(builder, n, steps, A, a, a_wide, B, b, b_wide, C, c, m, count):
        add, times = builder.add, builder.mul

        def load_at(base, index):
            place = place_at(builder, base, index, floats())
            if last:
                return read(builder, place, count, constant(0.0))
            return builder.load(place, align=4)

        for row, rows in _each_tile(builder, n):
            at = add(a, row)
            to = [add(c, times(m, add(row, _whole(r)))) for r in range(rows)]

            def number(r, i, at=at):
                return _number(builder, A, add(add(at, times(i, a_wide)), _whole(r)))

            def vector(i):
                return load_at(B, add(b, times(i, b_wide)))

            starts = [load_at(C, index) for index in to]
            for index, one in zip(to, _sum(builder, starts, steps, number, vector), strict=True):
                write(builder, place_at(builder, C, index, floats()), count, one)

    return product


_vector, _last_vector = _outer_product(last=False), _outer_product(last=True)


@inner
def worth_packing(rows: int, steps: int) -> bool:
    """Whether to pack weights that multiply `rows` rows, `steps` times."""
    return rows > FEW_ROWS and steps > FEW_STEPS


@inner
def pack(m: int, k: int, B: int, P: int) -> None:
    """The panels of B, (k, m), as `times` takes them: padded(m) * k floats."""
    for j in range(0, m, LANES):
        for i in range(k):
            store(P, j * k + i * LANES, get(B, i * m + j, m - j))


@inner
def pack_transposed(m: int, k: int, B: int, P: int) -> None:
    """The panels of the transpose of B, (m, k)."""
    for j in range(0, m, LANES):
        for lane in range(LANES):
            row = j + lane
            for i in range(k):
                store_one(P, j * k + i * LANES + lane, load_one(B, row * k + i) if row < m else 0.0)


@inner
def panels(
    bias: int, n: int, m: int, k: int, A: int, a: int, wide: int, P: int, C: int, c: int
) -> None:
    """C = A B + bias of (n, k) and (k, m) by the panels of B; the rows of A are `wide` apart."""
    last = (m - 1) // LANES * LANES
    for j in range(last, -1, -LANES):  # the last first: it may overwrite the beginnings of rows
        s = get(bias, j, m - j) if bias else broadcast(0.0)
        _panel(s, n, k, A, a, wide, P, j * k, C, c + j, m, n * m - j)


@inner
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
            while j < whole:
                _vector(count, steps, A, x, a_wide, B, y + j, b_wide, C, i * m + j, m, LANES)
                j += LANES
            if j < m:
                _last_vector(count, steps, A, x, a_wide, B, y + j, b_wide, C, i * m + j, m, m - j)


@inner
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


@inner
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


@inner
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


@inner
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
