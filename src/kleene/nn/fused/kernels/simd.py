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

import inspect
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from kleene.nn.fused.kernels.compile import inner
from kleene.nn.fused.kernels.records import LANES

FLOAT, INT, WHOLE = ir.FloatType(), ir.IntType(32), ir.IntType(64)
FAST = ("contract", "nsz", "arcp")  # a * b + c may become one instruction


class Simd(types.Type):
    """The type of such a vector in Numba's type inference."""

    def __init__(self) -> None:
        super().__init__(name=f"Simd{LANES}")


simd, address = Simd(), types.intp


@register_model(Simd)
class _SimdModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, floats())


# Pieces of LLVM's code, which the intrinsics here and in `products` write.


def floats() -> Any:
    """The type of a vector."""
    return ir.VectorType(FLOAT, LANES)


def constant(value: float) -> Any:
    """The same number in every lane."""
    return ir.Constant(floats(), [value] * LANES)


def integers(value: int) -> Any:
    """The same integer in every lane."""
    return ir.Constant(ir.VectorType(INT, LANES), [value] * LANES)


def place_at(builder: Any, base: Any, index: Any, kind: Any) -> Any:
    """A pointer to what begins at `index`."""
    start = builder.inttoptr(base, ir.PointerType(FLOAT))
    return builder.bitcast(builder.gep(start, [index]), ir.PointerType(kind))


def splat(builder: Any, value: Any) -> Any:
    """The same value in every lane."""
    kind = ir.VectorType(value.type, LANES)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(INT, 0))
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), integers(0))


def multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, one instruction."""
    return builder.fadd(builder.fmul(a, b, flags=FAST), c, flags=FAST)


def _call(builder: Any, name: str, result: Any, args: list[Any], **options: Any) -> Any:
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args, **options)


def _masked(builder: Any, count: Any) -> tuple[Any, Any]:
    """Whether a vector has all of its floats, and the mask of its first `count`."""
    numbers = ir.Constant(ir.VectorType(INT, LANES), list(range(LANES)))
    mask = builder.icmp_signed("<", numbers, splat(builder, builder.trunc(count, INT)))
    return builder.icmp_signed(">=", count, ir.Constant(count.type, LANES)), mask


def read(builder: Any, place: Any, count: Any, other: Any) -> Any:
    """The first `count` floats and those of `other` behind; without a mask if all are there."""
    whole, mask = _masked(builder, count)
    with builder.if_else(whole) as (then, otherwise):
        with then:
            first, first_block = builder.load(place, align=4), builder.block
        with otherwise:
            args = [place, ir.Constant(INT, 4), mask, other]
            part = _call(builder, f"llvm.masked.load.v{LANES}f32.p0", other.type, args)
            part_block = builder.block
    found = builder.phi(other.type)
    found.add_incoming(first, first_block)
    found.add_incoming(part, part_block)
    return found


def write(builder: Any, place: Any, count: Any, value: Any) -> None:
    """Write the first `count` floats; without a mask if all are written."""
    whole, mask = _masked(builder, count)
    with builder.if_else(whole) as (then, otherwise):
        with then:
            builder.store(value, place, align=4)
        with otherwise:
            args = [value, place, ir.Constant(INT, 4), mask]
            _call(builder, f"llvm.masked.store.v{LANES}f32.p0", ir.VoidType(), args)


def emitted(result: Any, *arguments: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make an intrinsic of a function that writes LLVM code, with these types."""

    def make(emit: Callable[..., Any]) -> Any:
        def typed(typing: Any, *given: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                found = emit(builder, *args)
                return context.get_dummy_value() if result is types.void else found

            return result(*arguments), generate

        typed.__name__, typed.__doc__ = emit.__name__, emit.__doc__
        typed.__signature__ = inspect.signature(emit)
        return intrinsic(typed)

    return make


@emitted(simd, address, address)
def load(builder: Any, base: Any, index: Any) -> Any:
    """The sixteen floats from `index` on."""
    return builder.load(place_at(builder, base, index, floats()), align=4)


@emitted(simd, address, address, types.intp)
def get(builder: Any, base: Any, index: Any, count: Any) -> Any:
    """Up to sixteen floats, 0 in the remaining lanes."""
    return read(builder, place_at(builder, base, index, floats()), count, constant(0.0))


@emitted(simd, address, address, types.intp, types.float32)
def get_or(builder: Any, base: Any, index: Any, count: Any, other: Any) -> Any:
    """Up to sixteen floats, `other` in the remaining lanes."""
    return read(builder, place_at(builder, base, index, floats()), count, splat(builder, other))


@emitted(types.void, address, address, simd)
def store(builder: Any, base: Any, index: Any, value: Any) -> None:
    """Write sixteen floats from `index` on."""
    builder.store(value, place_at(builder, base, index, floats()), align=4)


@emitted(types.void, address, address, types.intp, simd)
def put(builder: Any, base: Any, index: Any, count: Any, value: Any) -> None:
    """Write up to sixteen floats."""
    write(builder, place_at(builder, base, index, floats()), count, value)


@emitted(types.float32, address, address)
def load_one(builder: Any, base: Any, index: Any) -> Any:
    """The float at `index`."""
    return builder.load(place_at(builder, base, index, FLOAT), align=4)


@emitted(types.void, address, address, types.float32)
def store_one(builder: Any, base: Any, index: Any, value: Any) -> None:
    """Write a float to `index`."""
    builder.store(value, place_at(builder, base, index, FLOAT), align=4)


@emitted(types.int64, address, address)
def load_int(builder: Any, base: Any, index: Any) -> Any:
    """The 64-bit integer at `index`."""
    start = builder.inttoptr(base, ir.PointerType(WHOLE))
    return builder.load(builder.gep(start, [index]), align=8)


@emitted(simd, types.float32)
def broadcast(builder: Any, value: Any) -> Any:
    """The same float in every lane."""
    return splat(builder, value)


@emitted(simd, simd, simd)
def maximum(builder: Any, a: Any, b: Any) -> Any:
    """The maximum of two, lane by lane."""
    return builder.select(builder.fcmp_unordered(">", a, b), a, b)


@emitted(simd, simd, simd)
def where_positive(builder: Any, condition: Any, value: Any) -> Any:
    """The value where the condition is above 0, elsewhere 0."""
    above = builder.fcmp_ordered(">", condition, constant(0.0))
    return builder.select(above, value, constant(0.0))


@emitted(types.float32, simd)
def reduce_sum(builder: Any, a: Any) -> Any:
    """The sum of all lanes."""
    args = [ir.Constant(FLOAT, 0.0), a]
    name = f"llvm.vector.reduce.fadd.v{LANES}f32"
    return _call(builder, name, FLOAT, args, fastmath=("fast",))


@emitted(types.float32, simd)
def reduce_max(builder: Any, a: Any) -> Any:
    """The largest lane."""
    return _call(builder, f"llvm.vector.reduce.fmax.v{LANES}f32", FLOAT, [a], fastmath=("nnan",))


def _operator(symbol: Any, method: str) -> None:
    """Give the vectors one of Python's operators."""

    @infer_global(symbol)
    class Typing(ConcreteTemplate):
        cases = (signature(simd, simd, simd),)

    @lower_builtin(symbol, Simd, Simd)
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, method)(args[0], args[1], flags=FAST)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


# (e^r - 1) / r on |r| <= log(2) / 2 as a polynomial: Taylor's coefficients, highest power first.
EXP_SERIES = [1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0]
GATE = 28.0  # beyond it a sigmoid is 0 or 1 in float32; the product of three e^28 is finite


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
    bits = builder.add(builder.bitcast(shifted, integers(0).type), integers(127))
    power = builder.bitcast(builder.shl(bits, integers(23)), floats())
    return power, builder.fmul(series, r)


@emitted(simd, simd)
def exp(builder: Any, x: Any) -> Any:
    """e^x, of a relative error below 1e-7."""
    power, rest = _halves(builder, x, -87.0, 88.0)
    return multiply_add(builder, power, rest, power)


@emitted(simd, simd)
def exp_clipped(builder: Any, x: Any) -> Any:
    """e^x of x clipped to [-28, 28]."""
    power, rest = _halves(builder, x, -GATE, GATE)
    return multiply_add(builder, power, rest, power)


@emitted(simd, simd)
def expm1(builder: Any, x: Any) -> Any:
    """e^x - 1 of x clipped to [-28, 28], accurate near 0 too."""
    power, rest = _halves(builder, x, -GATE, GATE)
    return multiply_add(builder, power, rest, builder.fsub(power, constant(1.0)))


@inner
def reciprocal_sigmoid(x: Any) -> Any:
    """1 / sigmoid(x) = 1 + e^-x.

    Several gates share one division, by their common denominator: divisions are slow.
    """
    return broadcast(1.0) + exp_clipped(broadcast(0.0) - x)


@inner
def sigmoid(x: Any) -> Any:
    """1 / (1 + e^-x)."""
    return broadcast(1.0) / reciprocal_sigmoid(x)


@inner
def tanh(x: Any) -> Any:
    """(e^2x - 1) / (e^2x + 1)."""
    m = expm1(x + x)
    return m / (m + broadcast(2.0))


@inner
def sigmoid_and_tanh(a: Any, x: Any) -> Any:
    """Both by one division."""
    s, m = reciprocal_sigmoid(a), expm1(x + x)
    t = m + broadcast(2.0)
    share = broadcast(1.0) / (s * t)
    return share * t, share * s * m


@inner
def two_sigmoids_and_tanh(a: Any, b: Any, x: Any) -> Any:
    """All three by one division."""
    s, r, m = reciprocal_sigmoid(a), reciprocal_sigmoid(b), expm1(x + x)
    t = m + broadcast(2.0)
    both = s * r
    share = broadcast(1.0) / (both * t)
    rest = share * t
    return rest * r, rest * s, share * both * m
