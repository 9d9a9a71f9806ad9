"""Sixteen floats as one value inside compiled kernels.

LLVM's own vectoriser gives up on loops over many arrays that might overlap, and says nothing. With
a vector type of our own a kernel reads like the cell's equations and is vectorised by
construction. Sixteen are one register or two,
and two halves that do not wait for each other hide how long a division takes. Rows need not be
multiples of sixteen: the last lanes are loaded and stored in part.
Memory is named by its address, a whole number, and counted in floats from there.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

LANES = 16
_FLOAT, _INT, _BIT = ir.FloatType(), ir.IntType(32), ir.IntType(1)
_FLOATS, _INTS, _BITS = (ir.VectorType(of, LANES) for of in (_FLOAT, _INT, _BIT))
_FAST = ("contract", "nsz", "arcp")  # a * b + c may become one instruction


class Lanes(types.Type):  # type: ignore[misc]
    """Numba's name for the type."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes{LANES}")


lanes = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _FLOATS)


def _address(builder: Any, base: Any, index: Any, kind: Any = _FLOATS) -> Any:
    start = builder.inttoptr(base, ir.PointerType(_FLOAT))
    return builder.bitcast(builder.gep(start, [index]), ir.PointerType(kind))


def _mask(builder: Any, count: Any) -> Any:
    numbers = ir.Constant(_INTS, list(range(LANES)))
    return builder.icmp_signed("<", numbers, _spread(builder, builder.trunc(count, _INT), _INTS))


def _spread(builder: Any, value: Any, kind: Any) -> Any:
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(_INT, 0))
    zeros = ir.Constant(_INTS, [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)


def _call(builder: Any, name: str, result: Any, args: list[Any], **kwargs: Any) -> Any:
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args, **kwargs)


def _constant(value: float) -> Any:
    return ir.Constant(_FLOATS, [value] * LANES)


@intrinsic
def load(typing: Any, base: Any, index: Any) -> Any:
    """The floats from `index` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_address(builder, *args), align=4)

    return lanes(types.intp, types.intp), generate


@intrinsic
def load_part(typing: Any, base: Any, index: Any, count: Any, other: Any) -> Any:
    """The `count` floats from `index` on, and `other` in the lanes beyond."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rest = [ir.Constant(_INT, 4), _mask(builder, args[2]), _spread(builder, args[3], _FLOATS)]
        pointer = _address(builder, args[0], args[1])
        return _call(builder, f"llvm.masked.load.v{LANES}f32.p0", _FLOATS, [pointer, *rest])

    return lanes(types.intp, types.intp, types.intp, types.float32), generate


@intrinsic
def store(typing: Any, base: Any, index: Any, value: Any) -> Any:
    """Write them from `index` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _address(builder, args[0], args[1]), align=4)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, lanes), generate


@intrinsic
def store_part(typing: Any, base: Any, index: Any, count: Any, value: Any) -> Any:
    """Write the first `count` floats from `index` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rest = [_address(builder, args[0], args[1]), ir.Constant(_INT, 4), _mask(builder, args[2])]
        _call(builder, f"llvm.masked.store.v{LANES}f32.p0", ir.VoidType(), [args[3], *rest])
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp, lanes), generate


@intrinsic
def load_one(typing: Any, base: Any, index: Any) -> Any:
    """The float at `index`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_address(builder, *args, _FLOAT), align=4)

    return types.float32(types.intp, types.intp), generate


@intrinsic
def store_one(typing: Any, base: Any, index: Any, value: Any) -> Any:
    """Write a float to `index`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _address(builder, args[0], args[1], _FLOAT), align=4)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.float32), generate


@intrinsic
def load_whole(typing: Any, base: Any, index: Any) -> Any:
    """The whole number (64 bits) at `index`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        start = builder.inttoptr(args[0], ir.PointerType(ir.IntType(64)))
        return builder.load(builder.gep(start, [args[1]]), align=8)

    return types.int64(types.intp, types.intp), generate


@intrinsic
def full(typing: Any, value: Any) -> Any:
    """The same float in every lane."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _spread(builder, args[0], _FLOATS)

    return lanes(types.float32), generate


def _operator(symbol: Any, method: str) -> None:
    """Give the vectors one of Python's operators."""

    @infer_global(symbol)
    class Typing(ConcreteTemplate):  # type: ignore[misc]
        cases = (signature(lanes, lanes, lanes),)

    @lower_builtin(symbol, Lanes, Lanes)  # type: ignore[untyped-decorator]
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, method)(args[0], args[1], flags=_FAST)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


def _reduction(name: str, start: float | None) -> Any:
    @intrinsic
    def apply(typing: Any, a: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            first = [] if start is None else [ir.Constant(_FLOAT, start)]
            fast = ("fast",) if start is not None else ("nnan",)
            return _call(builder, name, _FLOAT, [*first, args[0]], fastmath=fast)

        return types.float32(lanes), generate

    return apply


total = _reduction(f"llvm.vector.reduce.fadd.v{LANES}f32", 0.0)
highest = _reduction(f"llvm.vector.reduce.fmax.v{LANES}f32", None)


@intrinsic
def larger(typing: Any, a: Any, b: Any) -> Any:
    """The larger of two, lane by lane."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_unordered(">", *args), *args)

    return lanes(lanes, lanes), generate


@intrinsic
def where_positive(typing: Any, condition: Any, value: Any) -> Any:
    """The value where the condition is above 0, elsewhere 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        above = builder.fcmp_ordered(">", args[0], _constant(0.0))
        return builder.select(above, args[1], _constant(0.0))

    return lanes(lanes, lanes), generate


# (e^r - 1) / r on |r| <= log(2) / 2 as a polynomial: Taylor's coefficients, highest power first.
EXP_SERIES = [1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0]


def _halves(builder: Any, x: Any, lowest: float, highest: float) -> tuple[Any, Any]:
    """2^n and e^r - 1 with e^x = 2^n e^r and |r| <= log(2) / 2, for x within bounds."""

    def fma(a: Any, b: Any, c: Any) -> Any:
        return builder.fadd(builder.fmul(a, b, flags=_FAST), c, flags=_FAST)

    for bound, beyond in ((lowest, ">"), (highest, "<")):
        limit = _constant(bound)
        outside = builder.fcmp_ordered(beyond, limit, x)  # false for not-a-number, which stays
        x = builder.select(outside, limit, x)
    magic = _constant(12582912.0)  # 1.5 * 2^23: adding it rounds to an integer
    shifted = fma(x, _constant(1.4426950408889634), magic)
    n = builder.fsub(shifted, magic)
    r = fma(n, _constant(-0.693359375), x)  # log 2 in two parts, so that n log 2 is exact
    r = fma(n, _constant(2.12194440e-4), r)
    series = _constant(EXP_SERIES[0])
    for coefficient in EXP_SERIES[1:]:
        series = fma(series, r, _constant(coefficient))
    bits = builder.add(builder.bitcast(shifted, _INTS), ir.Constant(_INTS, [127] * LANES))
    power = builder.bitcast(builder.shl(bits, ir.Constant(_INTS, [23] * LANES)), _FLOATS)
    return power, builder.fmul(series, r)


def _exponential(lowest: float, highest: float) -> Any:
    @intrinsic
    def apply(typing: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            power, rest = _halves(builder, args[0], lowest, highest)
            return builder.fadd(builder.fmul(power, rest, flags=_FAST), power, flags=_FAST)

        return lanes(lanes), generate

    return apply


GATE = 28.0  # beyond it gates are shut or open to float precision; three e^28 multiply to a float
exp = _exponential(-87.0, 88.0)  # within 1e-7 of the truth, relatively
exp_of_gate = _exponential(-GATE, GATE)  # so that the product of three is finite


@intrinsic
def less_one(typing: Any, x: Any) -> Any:
    """e^x - 1 of x cut to [-28, 28], exact to the last bits near 0, too."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        power, rest = _halves(builder, args[0], -GATE, GATE)
        whole = builder.fsub(power, _constant(1.0))
        return builder.fadd(builder.fmul(power, rest, flags=_FAST), whole, flags=_FAST)

    return lanes(lanes), generate


@njit(forceinline=True)
def get(base: Any, index: Any, count: Any) -> Any:
    """Up to `LANES` floats, 0 in the lanes beyond."""
    return load(base, index) if count >= LANES else load_part(base, index, count, 0.0)


@njit(forceinline=True)
def get_or(base: Any, index: Any, count: Any, other: Any) -> Any:
    """Up to `LANES` floats, `other` in the lanes beyond."""
    return load(base, index) if count >= LANES else load_part(base, index, count, other)


@njit(forceinline=True)
def put(base: Any, index: Any, count: Any, value: Any) -> None:
    """Write up to `LANES` floats."""
    if count >= LANES:
        store(base, index, value)
    else:
        store_part(base, index, count, value)


@njit(forceinline=True)
def shut(x: Any) -> Any:
    """1 / sigmoid(x). Gates are computed below their common denominator: a division is dear."""
    return full(1.0) + exp_of_gate(full(0.0) - x)


@njit(forceinline=True)
def sigmoid(x: Any) -> Any:
    """1 / (1 + e^-x)."""
    return full(1.0) / shut(x)


@njit(forceinline=True)
def tanh(x: Any) -> Any:
    """(e^2x - 1) / (e^2x + 1)."""
    m = less_one(x + x)
    return m / (m + full(2.0))


@njit(forceinline=True)
def sigmoid_and_tanh(a: Any, x: Any) -> Any:
    """Both by one division."""
    s, m = shut(a), less_one(x + x)
    t = m + full(2.0)
    share = full(1.0) / (s * t)
    return share * t, share * s * m


@njit(forceinline=True)
def two_sigmoids_and_tanh(a: Any, b: Any, x: Any) -> Any:
    """All three by one division."""
    s, r, m = shut(a), shut(b), less_one(x + x)
    t = m + full(2.0)
    both = s * r
    share = full(1.0) / (both * t)
    rest = share * t
    return rest * r, rest * s, share * both * m
