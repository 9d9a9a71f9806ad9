"""Matrix products inside compiled kernels, by the BLAS inside torch.

torch exports the Fortran entry `sgemm_` where it was built on MKL or OpenBLAS;
elsewhere SciPy's is used. The address is an argument of the kernels, so that their compiled code
can be cached on disk.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic

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
    """The address of `sgemm_` in this process."""
    entry = getattr(torch_library(), "sgemm_", None)
    if entry is None:
        return int(get_cython_function_address("scipy.linalg.cython_blas", "sgemm"))
    return ctypes.cast(entry, ctypes.c_void_p).value or 0


@functools.cache
def _limit() -> Callable[[int], int]:
    """Set the number of BLAS threads of the calling thread; return the previous number."""
    limit = getattr(torch_library(), "MKL_Set_Num_Threads_Local", None)
    return limit or (lambda threads: 0)


def use_one_thread() -> None:
    """Make the BLAS calls of this thread run on it alone, for good."""
    _limit()(1)


class one_thread:  # noqa: N801  used like torch.no_grad
    """Make the BLAS calls of this thread run on it alone, for a block."""

    def __enter__(self) -> None:
        self._before = None if torch.get_num_threads() == 1 else _limit()(1)

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            _limit()(self._before)


@intrinsic
def gemm(
    typing: Any,
    address: Any,
    transpose_a: Any,
    transpose_b: Any,
    m: Any,
    n: Any,
    k: Any,
    a: Any,
    a_index: Any,
    a_row: Any,
    b: Any,
    b_index: Any,
    b_row: Any,
    beta: Any,
    c: Any,
    c_index: Any,
    c_row: Any,
) -> Any:
    """C = op(A) op(B) + beta C, row-major: (m, k) times (k, n); an index and a row stride each.

    Fortran is column-major, so it is called for C^T = op(B)^T op(A)^T.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def by_reference(value: Any, kind: Any) -> Any:
            slot = cgutils.alloca_once(builder, kind)  # type: ignore[no-untyped-call]
            builder.store(value, slot)
            return builder.bitcast(slot, _POINTER)

        def integer(value: Any) -> Any:
            return by_reference(builder.trunc(value, ir.IntType(32)), ir.IntType(32))

        def letter(flag: Any) -> Any:
            byte = ir.IntType(8)
            chosen = builder.select(flag, ir.Constant(byte, ord("T")), ir.Constant(byte, ord("N")))
            return by_reference(chosen, byte)

        def matrix(position: int) -> Any:
            start = builder.inttoptr(args[position], ir.PointerType(ir.FloatType()))
            return builder.bitcast(builder.gep(start, [args[position + 1]]), _POINTER)

        one = by_reference(ir.Constant(ir.FloatType(), 1.0), ir.FloatType())
        fortran = [
            letter(args[2]),
            letter(args[1]),
            integer(args[4]),
            integer(args[3]),
            integer(args[5]),
            one,
            matrix(9),
            integer(args[11]),
            matrix(6),
            integer(args[8]),
            by_reference(args[12], ir.FloatType()),
            matrix(13),
            integer(args[15]),
        ]
        kind = ir.FunctionType(ir.VoidType(), [_POINTER] * len(fortran))
        function = builder.inttoptr(args[0], ir.PointerType(kind))
        builder.call(function, fortran)
        return context.get_dummy_value()

    whole, flag = types.intp, types.boolean
    return types.void(whole, flag, flag, *[whole] * 9, types.float32, *[whole] * 3), generate
