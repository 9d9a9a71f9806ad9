"""Arguments of compiled functions as one array of integers, given by its address.

To hand over a named tuple instead, Numba reads it field by field at every call.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from kleene.nn.fused.kernels.records import start


@intrinsic
def record(typing: Any, arguments: Any, kind: Any) -> Any:
    """One of the records of `ORDER`."""
    cls = kind.instance_class
    result = types.NamedUniTuple(types.int64, len(cls._fields), cls)  # type: ignore[no-untyped-call]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.PointerType(context.get_value_type(result))
        address = builder.add(args[0], ir.Constant(args[0].type, 8 * start(cls)))
        return builder.load(builder.inttoptr(address, pointer), align=8)

    return result(types.int64, kind), generate
