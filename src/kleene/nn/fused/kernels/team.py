"""Compiled functions on the threads that torch's own operations run on.

torch's OpenMP threads spin for some milliseconds after each operation, waiting for the next. Other
threads would share the cores with them; work given to them begins at once. `GOMP_parallel` of the
OpenMP library inside torch runs a C function on all of them.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import ctypes
import functools
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import cfunc, types
from numba.core import cgutils
from numba.extending import intrinsic

from kleene.nn.fused.kernels.blas import torch_library
from kleene.nn.fused.kernels.simd import load_int

_POINTER, _INT64 = ir.PointerType(ir.IntType(8)), ir.IntType(64)


@intrinsic
def _call_number(typing: Any, function: Any) -> Any:
    """`int f(void)`, by its address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(32), [])
        found = builder.call(builder.inttoptr(args[0], ir.PointerType(kind)), [])
        return builder.sext(found, _INT64)

    return types.int64(types.int64), generate


@intrinsic
def _call_compiled(typing: Any, function: Any, argument: Any) -> Any:
    """A function compiled by Numba from an integer to None, by its address.

    It takes two places before its arguments: for the result, and for an exception.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        places = [
            builder.bitcast(cgutils.alloca_once(builder, _POINTER), _POINTER) for _ in range(2)
        ]
        kind = ir.FunctionType(ir.IntType(32), [_POINTER, _POINTER, _INT64])
        builder.call(builder.inttoptr(args[0], ir.PointerType(kind)), [*places, args[1]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _share(work: Any) -> None:
    """What each thread runs: its share of the calls.

    `work` holds the addresses of omp_get_thread_num, omp_get_num_threads and the compiled function,
    the number of calls, and their arguments.
    """
    first, step = _call_number(load_int(work, 0)), _call_number(load_int(work, 1))
    for i in range(first, load_int(work, 3), step):
        _call_compiled(load_int(work, 2), load_int(work, 4 + i))


@functools.cache
def openmp() -> tuple[Callable[..., None], int, int, int] | None:
    """GOMP_parallel and what it needs, None where torch has another library of threads."""
    library = torch_library()
    try:
        parallel = getattr(library, "GOMP_parallel")  # noqa: B009
        numbers = [getattr(library, f"omp_get_{name}") for name in ("thread_num", "num_threads")]
    except AttributeError:
        return None
    parallel.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
    parallel.restype = None
    try:
        compiled = cfunc("void(int64)", cache=True)(_share)
    except RuntimeError:  # no folder can be written
        compiled = cfunc("void(int64)")(_share)
    first, second = (ctypes.cast(number, ctypes.c_void_p).value or 0 for number in numbers)
    return parallel, compiled.address, first, second


def run_together(compiled: Any, arguments: Sequence[int]) -> bool:
    """Call a compiled function with each argument, a thread each; False where that is impossible.

    The function takes one integer and has been called before.
    """
    found = openmp()
    if found is None:
        return False
    parallel, share, number, count = found
    (overload,) = compiled.overloads.values()
    function = overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)
    work = array("q", [number, count, function, len(arguments), *arguments])
    parallel(share, work.buffer_info()[0], len(arguments), 0)
    return True
