"""Copying and adding inside compiled kernels; memory is an address and an index in floats."""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

from numba.extending import register_jitable

from kleene.compiling import njit
from kleene.nn.fused.kernels.compile import kernel
from kleene.nn.fused.kernels.simd import LANES, broadcast, get, load, load_one, put, store


@njit(error_model="numpy")
def copy(to: int, at: int, source: int, begin: int, size: int) -> None:
    """Copy `size` floats."""
    for j in range(0, size, LANES):
        put(to, at + j, size - j, get(source, begin + j, size - j))


@njit(error_model="numpy")
def add(to: int, at: int, source: int, begin: int, size: int) -> None:
    """Add `size` floats in place."""
    for j in range(0, size, LANES):
        m = size - j
        put(to, at + j, m, get(to, at + j, m) + get(source, begin + j, m))


@njit(error_model="numpy")
def add_rows(to: int, source: int, row: int, rows: int, width: int, size: int) -> None:
    """Add the first `size` floats of every row to `to`."""
    for b in range(row, row + rows):
        add(to, 0, source, b * width, size)


@register_jitable
def padded(d: int) -> int:
    """The length of a row of `d` floats that ends with a whole vector."""
    return d + -d % LANES


@njit(error_model="numpy")
def pad_rows(to: int, source: int, d: int, rows: int) -> None:
    """Copy rows to padded ones, with zeros at the end."""
    for b in range(rows):
        for j in range(0, d, LANES):
            store(to, b * padded(d) + j, get(source, b * d + j, d - j))


@njit(error_model="numpy")
def unpad_rows(to: int, source: int, d: int, rows: int) -> None:
    """Copy rows from padded ones."""
    for b in range(rows):
        for j in range(0, d, LANES):
            put(to, b * d + j, d - j, load(source, b * padded(d) + j))


@njit(error_model="numpy")
def fill_zero(to: int, size: int) -> None:
    """Set `size` floats to zero."""
    for j in range(0, size, LANES):
        put(to, j, size - j, broadcast(0.0))


@kernel
def is_zero(source: int, size: int) -> bool:
    """Whether `size` floats are all zero."""
    for j in range(size):  # noqa: SIM110  Numba has no all()
        if load_one(source, j) != 0.0:
            return False
    return True
