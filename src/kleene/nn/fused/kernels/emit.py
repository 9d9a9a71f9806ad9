"""Pieces of LLVM's code for vectors of floats, which the intrinsics of `simd` and `tiles` write.

Memory is an address and an index in floats; a place is a pointer to a vector.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from kleene.nn.fused.kernels.records import LANES

FLOAT, INT = ir.FloatType(), ir.IntType(32)
FAST = ("contract", "nsz", "arcp")  # a * b + c may become one instruction


def floats(lanes: int = LANES) -> Any:
    """The type of a vector."""
    return ir.VectorType(FLOAT, lanes)


def ints(lanes: int = LANES) -> Any:
    """The type of a vector of integers."""
    return ir.VectorType(INT, lanes)


def constant(value: float, lanes: int = LANES) -> Any:
    """The same number in every lane."""
    return ir.Constant(floats(lanes), [value] * lanes)


def place_at(builder: Any, base: Any, index: Any, kind: Any) -> Any:
    """The place of what begins at `index`."""
    start = builder.inttoptr(base, ir.PointerType(FLOAT))
    return builder.bitcast(builder.gep(start, [index]), ir.PointerType(kind))


def vector_at(builder: Any, base: Any, index: Any, lanes: int = LANES) -> Any:
    """The place of a vector."""
    return place_at(builder, base, index, floats(lanes))


def splat(builder: Any, value: Any, lanes: int = LANES) -> Any:
    """The same value in every lane."""
    kind = ir.VectorType(value.type, lanes)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(INT, 0))
    zeros = ir.Constant(ints(lanes), [0] * lanes)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)


def first_lanes(builder: Any, vector: Any, lanes: int) -> Any:
    """A shorter vector."""
    numbers = ir.Constant(ints(lanes), list(range(lanes)))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), numbers)


def multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, one instruction."""
    return builder.fadd(builder.fmul(a, b, flags=FAST), c, flags=FAST)


def call(builder: Any, name: str, result: Any, args: list[Any], **kwargs: Any) -> Any:
    """Call one of LLVM's own functions."""
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args, **kwargs)


def _mask(builder: Any, count: Any, lanes: int) -> Any:
    numbers = ir.Constant(ints(lanes), list(range(lanes)))
    return builder.icmp_signed("<", numbers, splat(builder, builder.trunc(count, INT), lanes))


def read_part(builder: Any, place: Any, count: Any, other: Any) -> Any:
    """The first `count` floats, and those of `other` in the remaining lanes."""
    lanes = other.type.count
    args = [place, ir.Constant(INT, 4), _mask(builder, count, lanes), other]
    return call(builder, f"llvm.masked.load.v{lanes}f32.p0", other.type, args)


def write_part(builder: Any, place: Any, count: Any, value: Any) -> None:
    """Write the first `count` floats."""
    lanes = value.type.count
    args = [value, place, ir.Constant(INT, 4), _mask(builder, count, lanes)]
    call(builder, f"llvm.masked.store.v{lanes}f32.p0", ir.VoidType(), args)


def write_some(builder: Any, place: Any, count: Any, value: Any) -> None:
    """The same; the whole vector, which is faster, if `count` is no less."""
    whole = builder.icmp_signed(">=", count, ir.Constant(count.type, value.type.count))
    with builder.if_else(whole) as (then, otherwise):
        with then:
            builder.store(value, place, align=4)
        with otherwise:
            write_part(builder, place, count, value)
