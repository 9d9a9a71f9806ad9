"""How kernels are compiled: their arguments, the functions inside them, and the cache on disk.

A kernel takes one integer, the address of an array of integers, and reads its arguments from it as
`records`: to hand over named tuples instead, Numba reads them field by field at every call. Numba
caches compiled code beside the source, or in the user's cache folder if that cannot be written; if
neither can, every process compiles for itself.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, register_jitable

from kleene.compiling import njit
from kleene.nn.fused.kernels.records import start


@intrinsic
def record(typing: Any, arguments: Any, kind: Any) -> Any:
    """One of the records of a call."""
    cls = kind.instance_class
    result = types.NamedUniTuple(types.int64, len(cls._fields), cls)  # type: ignore[no-untyped-call]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.PointerType(context.get_value_type(result))
        address = builder.add(args[0], ir.Constant(args[0].type, 8 * start(cls)))
        return builder.load(builder.inttoptr(address, pointer), align=8)

    return result(types.int64, kind), generate


def inner(function: Callable[..., Any]) -> Any:
    """A function that kernels call, compiled once for all of its calls, without a wrapper."""
    return register_jitable(error_model="numpy", no_cfunc_wrapper=True)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """The same, copied into its callers: constant arguments select its code."""
    return register_jitable(error_model="numpy", no_cfunc_wrapper=True, forceinline=True)(function)


@functools.cache
def _digest() -> str:
    """Of all files in this folder: the kernels are compiled from several of them."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that releases Python's global lock and is cached on disk."""
    options: Any = {"nogil": True, "error_model": "numpy"}
    try:
        compiled: Any = njit(function, cache=True, **options)
    except RuntimeError:  # no folder can be written
        compiled = njit(function, **options)
    with suppress(AttributeError):
        # Numba compares the time stamp of one file; the kernels are made of several.
        compiled._cache._cache_file._source_stamp = _digest()
    return compiled


def is_cached(compiled: Any) -> bool:
    """Whether a kernel is in Numba's cache, for this version of its source."""
    try:
        return bool(compiled._cache._cache_file._load_index())
    except AttributeError:  # no cache, or another version of Numba
        return False
