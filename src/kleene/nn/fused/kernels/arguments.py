"""Records as one array of integers: a compiled function that takes its address is cheap to call.

To hand over a named tuple, Numba reads it field by field at every call.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic


def join(*records: Sequence[int]) -> array[int]:
    """The records one after the other; `record` reads them again."""
    joined = array("q")
    for one in records:
        joined.extend(one)
    return joined


@intrinsic
def record(typing: Any, address: Any, kind: Any) -> Any:
    """The record, a named tuple of integers, at an address."""
    cls = kind.instance_class
    result = types.NamedUniTuple(types.int64, len(cls._fields), cls)  # type: ignore[no-untyped-call]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.PointerType(context.get_value_type(result))
        return builder.load(builder.inttoptr(args[0], pointer), align=8)

    return result(types.int64, kind), generate
