"""Products of a few columns, cut into tiles whose sums are all in registers.

    C[r, v] = start[r, v] + sum_i A[r, i] B[i, v]         r: some rows, v: one or two vectors

For every i, a tile loads the vectors B[i, v] once and multiplies each of them with one number of
every row, into as many sums. The sums are independent of one another: a multiply-add takes four
cycles, and while it is under way those of other sums begin. The size of a tile follows from the
number of registers; rows that are left over go through smaller tiles.

The loops over the rows and vectors of a tile run when the code is compiled, and write it: Numba
keeps single variables in registers, but not the elements of a tuple or an array.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from kleene.nn.fused.kernels.emit import (
    FLOAT,
    constant,
    first_lanes,
    multiply_add,
    place_at,
    read_part,
    splat,
    vector_at,
    write_some,
)
from kleene.nn.fused.kernels.records import LANES
from kleene.nn.fused.kernels.simd import simd

_FEATURES = config.CPU_FEATURES or binding.get_host_cpu_features().flatten()
ROWS, VECTORS = (8, 2) if "+avx512f" in _FEATURES else (6, 1)
"""Of the largest tile. AVX-512 has 32 registers, of one vector each: 16 sums, two vectors and a
number. AVX2 has 16, and a vector takes two: six sums, one vector and a number."""


def _whole(number: int) -> Any:
    return ir.Constant(ir.IntType(64), number)


def _each_tile(builder: Any, n: Any) -> Any:
    """The first row and the number of rows of every tile, in a loop for each number."""
    done = _whole(0)
    for rows in (ROWS, 4, 2, 1):
        last = builder.sub(n, _whole(rows - 1))
        with cgutils.for_range_slice(builder, done, last, _whole(rows), inc=True) as (row, _):
            yield row, rows
        done = builder.sub(n, builder.srem(builder.sub(n, done), _whole(rows)))


def _number(builder: Any, base: Any, index: Any, lanes: int) -> Any:
    """One float in every lane."""
    return splat(builder, builder.load(place_at(builder, base, index, FLOAT), align=4), lanes)


def _sum(builder: Any, starts: Any, steps: Any, number: Any, vector: Any) -> Any:
    """The sums, row by row, by what they start with; `number(r, i)` and `vector(v, i)` load."""
    sums = [[cgutils.alloca_once_value(builder, start) for start in row] for row in starts]
    with cgutils.for_range(builder, steps) as loop:
        vectors = [vector(v, loop.index) for v in range(len(sums[0]))]
        for r, row in enumerate(sums):
            x = number(r, loop.index)
            for one, b in zip(row, vectors, strict=True):
                builder.store(multiply_add(builder, x, b, builder.load(one)), one)
    return [[builder.load(one) for one in row] for row in sums]


def panel_product(vectors: int, last: int = 0) -> Any:
    """`vectors` panels of C = A B plus `s` and, in the second panel, `t`.

    The `n` rows of A have `k` numbers and are `wide` apart, those of C `m`. `last` is for a panel
    that ends beyond the rows of C, and how many of its lanes are multiplied: it may write the
    beginning of the next row, but no more than `left` floats from `c` on.
    """
    lanes = last or LANES

    @intrinsic
    def product(typing, s, t, n, k, A, a, wide, P, p, C, c, m, left):
        def generate(context, builder, signature, args):
            s, t, n, k, A, a, wide, P, p, C, c, m, left = args
            add, sub, times = builder.add, builder.sub, builder.mul
            start = [first_lanes(builder, one, lanes) for one in (s, t)[:vectors]]
            for row, rows in _each_tile(builder, n):
                at, to = add(a, times(row, wide)), times(row, m)

                def number(r, i, at=at):
                    return _number(builder, A, add(add(at, times(wide, _whole(r))), i), lanes)

                def vector(v, i):
                    panel = add(p, times(k, _whole(LANES * v)))
                    there = add(panel, times(i, _whole(LANES)))
                    return builder.load(vector_at(builder, P, there, lanes), align=4)

                found = _sum(builder, [start] * rows, k, number, vector)
                for r in range(rows):
                    there = add(to, times(m, _whole(r)))
                    for v in range(vectors):
                        place = vector_at(builder, C, add(add(c, there), _whole(LANES * v)), lanes)
                        if last:
                            write_some(builder, place, sub(left, there), found[r][v])
                        else:
                            builder.store(found[r][v], place, align=4)
            return context.get_dummy_value()

        return types.void(simd, simd, *[types.intp] * 11), generate

    return product


def outer_product(vectors: int, last: int = 0) -> Any:
    """`vectors` vectors of C += A^T B, (n, steps) times (steps, m).

    A step reads a row of A, `n` numbers, and one of B; they are `a_wide` and `b_wide` apart. `last`
    is for a vector of so many lanes, of which the first `count` belong to the rows of B and C.
    """
    lanes = last or LANES

    @intrinsic
    def product(typing, n, steps, A, a, a_wide, B, b, b_wide, C, c, m, count):
        def generate(context, builder, signature, args):
            n, steps, A, a, a_wide, B, b, b_wide, C, c, m, count = args
            add, times = builder.add, builder.mul

            def read(place):
                if last:
                    return read_part(builder, place, count, constant(0.0, lanes))
                return builder.load(place, align=4)

            for row, rows in _each_tile(builder, n):
                at, to = add(a, row), add(c, times(row, m))

                def number(r, i, at=at):
                    there = add(add(at, times(i, a_wide)), _whole(r))
                    return _number(builder, A, there, lanes)

                def vector(v, i):
                    there = add(add(b, times(i, b_wide)), _whole(LANES * v))
                    return read(vector_at(builder, B, there, lanes))

                def place(r, v, to=to):
                    there = add(add(to, times(m, _whole(r))), _whole(LANES * v))
                    return vector_at(builder, C, there, lanes)

                starts = [[read(place(r, v)) for v in range(vectors)] for r in range(rows)]
                for r, found in enumerate(_sum(builder, starts, steps, number, vector)):
                    for v, one in enumerate(found):
                        if last:
                            write_some(builder, place(r, v), count, one)
                        else:
                            builder.store(one, place(r, v), align=4)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 12), generate

    return product
