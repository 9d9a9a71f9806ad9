"""A SIMD vector of sixteen floats as a Numba type.

LLVM's automatic vectoriser silently gives up on loops over many arrays that might overlap. With an
explicit vector type a kernel reads like the cell's equations and is vectorised by construction:

    @njit
    def scaled_tanh(X, Y, n, factor):              # X, Y: addresses; y = factor * tanh(x)
        for j in range(0, n, LANES):
            x = get(X, j, n - j)                   # 16 floats, or the last n - j of them
            put(Y, j, n - j, broadcast(factor) * tanh(x))

Sixteen floats are one register of AVX-512 or two of AVX2; the two halves are independent and hide
the latency of a division. Memory is an address, an integer, and an index in floats.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from kleene.compiling import njit
from kleene.nn.fused.kernels.emit import (
    FAST,
    FLOAT,
    call,
    constant,
    floats,
    ints,
    multiply_add,
    place_at,
    read_part,
    splat,
    vector_at,
    write_part,
)
from kleene.nn.fused.kernels.records import LANES

_FLOATS, _INTS = floats(), ints()


class Simd(types.Type):  # type: ignore[misc]
    """The type of such a vector in Numba's type inference."""

    def __init__(self) -> None:
        super().__init__(name=f"Simd{LANES}")


simd = Simd()


@register_model(Simd)
class _SimdModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _FLOATS)


@intrinsic
def load(typing: Any, base: Any, index: Any) -> Any:
    """The floats from `index` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(vector_at(builder, *args), align=4)

    return simd(types.intp, types.intp), generate


@intrinsic
def load_part(typing: Any, base: Any, index: Any, count: Any, other: Any) -> Any:
    """The `count` floats from `index` on, and `other` in the remaining lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        there = vector_at(builder, args[0], args[1])
        return read_part(builder, there, args[2], splat(builder, args[3]))

    return simd(types.intp, types.intp, types.intp, types.float32), generate


@intrinsic
def store(typing: Any, base: Any, index: Any, value: Any) -> Any:
    """Write the floats from `index` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], vector_at(builder, args[0], args[1]), align=4)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, simd), generate


@intrinsic
def store_part(typing: Any, base: Any, index: Any, count: Any, value: Any) -> Any:
    """Write the first `count` floats from `index` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        write_part(builder, vector_at(builder, args[0], args[1]), args[2], args[3])
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp, simd), generate


@intrinsic
def load_one(typing: Any, base: Any, index: Any) -> Any:
    """The float at `index`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(place_at(builder, *args, FLOAT), align=4)

    return types.float32(types.intp, types.intp), generate


@intrinsic
def store_one(typing: Any, base: Any, index: Any, value: Any) -> Any:
    """Write a float to `index`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], place_at(builder, args[0], args[1], FLOAT), align=4)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.float32), generate


@intrinsic
def load_int(typing: Any, base: Any, index: Any) -> Any:
    """The 64-bit integer at `index`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        start = builder.inttoptr(args[0], ir.PointerType(ir.IntType(64)))
        return builder.load(builder.gep(start, [args[1]]), align=8)

    return types.int64(types.intp, types.intp), generate


@intrinsic
def broadcast(typing: Any, value: Any) -> Any:
    """The same float in every lane."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return splat(builder, args[0])

    return simd(types.float32), generate


def _operator(symbol: Any, method: str) -> None:
    """Give the vectors one of Python's operators."""

    @infer_global(symbol)
    class Typing(ConcreteTemplate):  # type: ignore[misc]
        cases = (signature(simd, simd, simd),)

    @lower_builtin(symbol, Simd, Simd)  # type: ignore[untyped-decorator]
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, method)(args[0], args[1], flags=FAST)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


def _reduction(name: str, start: float | None) -> Any:
    @intrinsic
    def apply(typing: Any, a: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            first = [] if start is None else [ir.Constant(FLOAT, start)]
            fast = ("fast",) if start is not None else ("nnan",)
            return call(builder, name, FLOAT, [*first, args[0]], fastmath=fast)

        return types.float32(simd), generate

    return apply


reduce_sum = _reduction(f"llvm.vector.reduce.fadd.v{LANES}f32", 0.0)
reduce_max = _reduction(f"llvm.vector.reduce.fmax.v{LANES}f32", None)


@intrinsic
def maximum(typing: Any, a: Any, b: Any) -> Any:
    """The maximum of two, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_unordered(">", *args), *args)

    return simd(simd, simd), generate


@intrinsic
def where_positive(typing: Any, condition: Any, value: Any) -> Any:
    """The value where the condition is above 0, elsewhere 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        above = builder.fcmp_ordered(">", args[0], constant(0.0))
        return builder.select(above, args[1], constant(0.0))

    return simd(simd, simd), generate


# (e^r - 1) / r on |r| <= log(2) / 2 as a polynomial: Taylor's coefficients, highest power first.
EXP_SERIES = [1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0]


def _halves(builder: Any, x: Any, lowest: float, highest: float) -> tuple[Any, Any]:
    """2^n and e^r - 1 with e^x = 2^n e^r and |r| <= log(2) / 2, for x within bounds."""

    def fma(a: Any, b: Any, c: Any) -> Any:
        return multiply_add(builder, a, b, c)

    for bound, beyond in ((lowest, ">"), (highest, "<")):
        limit = constant(bound)
        outside = builder.fcmp_ordered(beyond, limit, x)  # false for not-a-number, which stays
        x = builder.select(outside, limit, x)
    magic = constant(12582912.0)  # 1.5 * 2^23: adding it rounds to an integer
    shifted = fma(x, constant(1.4426950408889634), magic)
    n = builder.fsub(shifted, magic)
    r = fma(n, constant(-0.693359375), x)  # log 2 in two parts, so that n log 2 is exact
    r = fma(n, constant(2.12194440e-4), r)
    series = constant(EXP_SERIES[0])
    for coefficient in EXP_SERIES[1:]:
        series = fma(series, r, constant(coefficient))
    bits = builder.add(builder.bitcast(shifted, _INTS), ir.Constant(_INTS, [127] * LANES))
    power = builder.bitcast(builder.shl(bits, ir.Constant(_INTS, [23] * LANES)), _FLOATS)
    return power, builder.fmul(series, r)


def _exponential(lowest: float, highest: float) -> Any:
    @intrinsic
    def apply(typing: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            power, rest = _halves(builder, args[0], lowest, highest)
            return builder.fadd(builder.fmul(power, rest, flags=FAST), power, flags=FAST)

        return simd(simd), generate

    return apply


GATE = 28.0  # beyond it a sigmoid is 0 or 1 in float32; the product of three e^28 is finite
exp = _exponential(-87.0, 88.0)  # relative error below 1e-7
exp_clipped = _exponential(-GATE, GATE)  # so that the product of three is finite


@intrinsic
def expm1(typing: Any, x: Any) -> Any:
    """e^x - 1 of x clipped to [-28, 28], accurate near 0 too."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        power, rest = _halves(builder, args[0], -GATE, GATE)
        whole = builder.fsub(power, constant(1.0))
        return builder.fadd(builder.fmul(power, rest, flags=FAST), whole, flags=FAST)

    return simd(simd), generate


@njit(forceinline=True)
def get(base: Any, index: Any, count: Any) -> Any:
    """Up to `LANES` floats, 0 in the remaining lanes."""
    return load(base, index) if count >= LANES else load_part(base, index, count, 0.0)


@njit(forceinline=True)
def get_or(base: Any, index: Any, count: Any, other: Any) -> Any:
    """Up to `LANES` floats, `other` in the remaining lanes."""
    return load(base, index) if count >= LANES else load_part(base, index, count, other)


@njit(forceinline=True)
def put(base: Any, index: Any, count: Any, value: Any) -> None:
    """Write up to `LANES` floats."""
    if count >= LANES:
        store(base, index, value)
    else:
        store_part(base, index, count, value)


@njit(forceinline=True)
def reciprocal_sigmoid(x: Any) -> Any:
    """1 / sigmoid(x) = 1 + e^-x.

    Several gates share one division, by their common denominator: divisions are slow.
    """
    return broadcast(1.0) + exp_clipped(broadcast(0.0) - x)


@njit(forceinline=True)
def sigmoid(x: Any) -> Any:
    """1 / (1 + e^-x)."""
    return broadcast(1.0) / reciprocal_sigmoid(x)


@njit(forceinline=True)
def tanh(x: Any) -> Any:
    """(e^2x - 1) / (e^2x + 1)."""
    m = expm1(x + x)
    return m / (m + broadcast(2.0))


@njit(forceinline=True)
def sigmoid_and_tanh(a: Any, x: Any) -> Any:
    """Both by one division."""
    s, m = reciprocal_sigmoid(a), expm1(x + x)
    t = m + broadcast(2.0)
    share = broadcast(1.0) / (s * t)
    return share * t, share * s * m


@njit(forceinline=True)
def two_sigmoids_and_tanh(a: Any, b: Any, x: Any) -> Any:
    """All three by one division."""
    s, r, m = reciprocal_sigmoid(a), reciprocal_sigmoid(b), expm1(x + x)
    t = m + broadcast(2.0)
    both = s * r
    share = broadcast(1.0) / (both * t)
    rest = share * t
    return rest * r, rest * s, share * both * m
