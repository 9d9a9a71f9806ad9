"""A 64-bit fingerprint of some arrays, so that what was made of them can be used again.

It reads every float: a write is seen however it was made, also through `.data` or NumPy. Each word
of eight bytes goes through h = (h ^ word) * P, h = h ^ (h >> 32), which is one-to-one in h and in
the word: a change of a single word always changes the result; several changes cancel out with a
probability of about 2^-64.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from kleene.compiling import njit
from kleene.nn.fused.kernels.arguments import record
from kleene.nn.fused.kernels.compile import kernel
from kleene.nn.fused.kernels.records import Job, Weights
from kleene.nn.fused.kernels.simd import LANES, broadcast, get, load, simd

PRIME = 0x9E3779B97F4A7C15
_WORDS = ir.VectorType(ir.IntType(64), LANES // 2)


@intrinsic
def _mix_words(typing, h, words):
    """The step above on eight words at once; vectors of floats only carry their bits."""

    def generate(context, builder, signature, args):
        h, words = (builder.bitcast(arg, _WORDS) for arg in args)
        prime, half = (ir.Constant(_WORDS, [value] * (LANES // 2)) for value in (PRIME, 32))
        h = builder.mul(builder.xor(h, words), prime)
        return builder.bitcast(builder.xor(h, builder.lshr(h, half)), args[0].type)

    return simd(simd, simd), generate


@intrinsic
def _word(typing, vector, number):
    """One of the eight words."""

    def generate(context, builder, signature, args):
        return builder.extract_element(builder.bitcast(args[0], _WORDS), args[1])

    return types.uint64(simd, types.int64), generate


@njit(error_model="numpy")
def _mix(h: int, word: int) -> int:
    h = (h ^ word) * np.uint64(PRIME)
    return h ^ (h >> np.uint64(32))


@njit(error_model="numpy")
def _array(h: int, A: int, size: int) -> int:
    """The fingerprint `h` with `size` floats added; four independent vectors hide the latency."""
    h = _mix(h, np.uint64(size if A else 0))
    if A == 0:
        return h
    a, b, c, d, j = broadcast(1.0), broadcast(2.0), broadcast(3.0), broadcast(4.0), 0
    while j + 4 * LANES <= size:
        a = _mix_words(a, load(A, j))
        b = _mix_words(b, load(A, j + LANES))
        c = _mix_words(c, load(A, j + 2 * LANES))
        d = _mix_words(d, load(A, j + 3 * LANES))
        j += 4 * LANES
    while j < size:
        a = _mix_words(a, get(A, j, size - j))
        j += LANES
    a = _mix_words(_mix_words(_mix_words(a, b), c), d)
    for i in range(LANES // 2):
        h = _mix(h, _word(a, i))
    return h


@kernel
def fingerprint(arguments: int) -> int:
    """Of the weights that `fold` reads."""
    job, raw = record(arguments, Job), record(arguments, Weights)
    h = _array(np.uint64(1), raw.R, job.gates * job.hidden)
    h = _array(h, job.S, job.states * job.hidden)
    h = _array(h, job.W if job.few else 0, job.gates * job.size)
    h = _array(h, raw.h_bias, job.gates)
    return _array(h, raw.x_bias, job.gates)
