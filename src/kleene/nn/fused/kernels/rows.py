"""Row by row: copying, adding, and the stochastic component from scores to weights and back.

Memory is an address and an index in floats.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import math
from typing import Any

import numpy as np

from kleene.nn.fused.kernels.compile import inner
from kleene.nn.fused.kernels.simd import (
    LANES,
    broadcast,
    exp,
    get,
    get_or,
    load,
    load_one,
    maximum,
    put,
    reduce_max,
    reduce_sum,
    store,
    store_one,
)

LOWEST = np.float32(-np.inf)
MIN_DIFFERENCE = np.float32(
    -1e20
)  # differences of scores are clipped here, so that multiples are finite
SHARP, MAX_FACTOR = (
    1e8,
    3e38,
)  # factors from which on only the highest score counts, and the largest one
TINY = np.float32(1e-12)


@inner
def copy(to: int, at: int, source: int, begin: int, size: int) -> None:
    """Copy `size` floats."""
    for j in range(0, size, LANES):
        put(to, at + j, size - j, get(source, begin + j, size - j))


@inner
def add(to: int, at: int, source: int, begin: int, size: int) -> None:
    """Add `size` floats in place."""
    for j in range(0, size, LANES):
        m = size - j
        put(to, at + j, m, get(to, at + j, m) + get(source, begin + j, m))


@inner
def add_rows(to: int, source: int, row: int, rows: int, width: int, size: int) -> None:
    """Add the first `size` floats of every row to `to`."""
    for b in range(row, row + rows):
        add(to, 0, source, b * width, size)


@inner
def padded(d: int) -> int:
    """The length of a row of `d` floats that ends with a whole vector."""
    return d + -d % LANES


@inner
def pad_rows(to: int, source: int, d: int, rows: int) -> None:
    """Copy rows to padded ones, with zeros at the end."""
    for b in range(rows):
        for j in range(0, d, LANES):
            store(to, b * padded(d) + j, get(source, b * d + j, d - j))


@inner
def unpad_rows(to: int, source: int, d: int, rows: int) -> None:
    """Copy rows from padded ones."""
    for b in range(rows):
        for j in range(0, d, LANES):
            put(to, b * d + j, d - j, load(source, b * padded(d) + j))


@inner
def fill_zero(to: int, size: int) -> None:
    """Set `size` floats to zero."""
    for j in range(0, size, LANES):
        put(to, j, size - j, broadcast(0.0))


@inner
def two_parts(factor: float) -> Any:
    """A double-precision factor as the sum of two in single precision.

    Otherwise its rounding error would add up over the steps of a long sequence. From `SHARP` on the
    softmax is one-hot anyway, and the second part is 0.
    """
    large = np.float32(min(factor, MAX_FACTOR))
    return broadcast(large), broadcast(np.float32(factor - large if factor < SHARP else 0.0))


@inner
def softmax(
    scores: int, weights: int, row: int, rows: int, k: int, offsets: int, noise: int, inverse: float
) -> None:
    """w = softmax((scores + offsets + noise) / temperature); the offsets are added to `scores`."""
    scale, rest = two_parts(inverse)
    moved = offsets != 0 or noise != 0
    source = weights if moved else scores
    for at in range(row * k, (row + rows) * k, k):
        top = broadcast(LOWEST)
        for j in range(0, k, LANES):
            m = k - j
            s = get_or(scores, at + j, m, LOWEST)
            if moved:
                if offsets:
                    s = s + get(offsets, j, m)
                    put(scores, at + j, m, s)
                if noise:
                    s = s + get(noise, at + j, m)
                put(weights, at + j, m, s)
            top = maximum(s, top)
        peak = broadcast(reduce_max(top))
        mass = broadcast(0.0)
        for j in range(0, k, LANES):
            s = maximum(get_or(source, at + j, k - j, LOWEST) - peak, broadcast(MIN_DIFFERENCE))
            e = exp(s * scale + s * rest)
            put(weights, at + j, k - j, e)
            mass = mass + e
        share = broadcast(np.float32(1.0) / reduce_sum(mass))
        for j in range(0, k, LANES):
            put(weights, at + j, k - j, get(weights, at + j, k - j) * share)


@inner
def softmax_in_registers(
    scores: int, weights: int, row: int, rows: int, k: int, offsets: int, noise: int, inverse: float
) -> None:
    """The same for at most `LANES` states: one vector, which stays in registers."""
    scale, rest = two_parts(inverse)
    for at in range(row * k, (row + rows) * k, k):
        s = get_or(scores, at, k, LOWEST)
        if offsets:
            s = s + get(offsets, 0, k)
            put(scores, at, k, s)
        if noise:
            s = s + get(noise, at, k)
        s = maximum(s - broadcast(reduce_max(s)), broadcast(MIN_DIFFERENCE))
        e = exp(s * scale + s * rest)
        put(weights, at, k, e * broadcast(np.float32(1.0) / reduce_sum(e)))


@inner
def harden(weights: int, soft: int, row: int, rows: int, k: int) -> None:
    """One-hot weights of the largest one; the soft weights go to `soft`, unless it is 0."""
    for b in range(rows):
        at, best, peak = (row + b) * k, 0, LOWEST
        for j in range(k):
            weight = load_one(weights, at + j)
            if soft:
                store_one(soft, at + j, weight)
            if weight > peak:
                best, peak = j, weight
            store_one(weights, at + j, 0.0)
        store_one(weights, at + best, 1.0)


@inner
def softmax_backward(
    D: int,
    alpha: int,
    scores: int,
    noise: int,
    grad_scores: int,
    row: int,
    rows: int,
    k: int,
    inverse: float,
    DS: int,
    learn_temperature: bool,
) -> float:
    """Gradient of the scores from that of the weights, and the gradient of 1 / temperature."""
    noisy, graded = noise != 0, grad_scores != 0
    to_inverse = 0.0
    scale = broadcast(np.float32(min(inverse, MAX_FACTOR)))
    for b in range(rows):
        at, here = b * k, (row + b) * k
        mean = broadcast(0.0)
        for j in range(0, k, LANES):
            mean = mean + get(D, at + j, k - j) * get(alpha, here + j, k - j)
        mean = broadcast(reduce_sum(mean))
        raised = broadcast(0.0)
        for j in range(0, k, LANES):
            m = k - j
            ds = get(alpha, here + j, m) * (get(D, at + j, m) - mean)
            if learn_temperature:
                s = get(scores, here + j, m)
                if noisy:
                    s = s + get(noise, here + j, m)
                raised = raised + ds * s
            ds = ds * scale
            if graded:
                ds = ds + get(grad_scores, here + j, m)
            put(DS, at + j, m, ds)
        if learn_temperature:
            to_inverse += reduce_sum(raised)
    return to_inverse


@inner
def normalise(U: int, row: int, rows: int, d: int, norms: int, kept: int) -> None:
    """Scale rows to length 1, in place; the factors go to `norms`, unless it is 0."""
    for b in range(rows):
        at = (row + b) * d
        square = broadcast(0.0)
        for j in range(0, d, LANES):
            u = get(U, at + j, d - j)
            square = square + u * u
        inverse = np.float32(1.0) / max(np.float32(math.sqrt(reduce_sum(square))), TINY)
        if norms:
            store_one(norms, kept + b, inverse)
        factor = broadcast(inverse)
        for j in range(0, d, LANES):
            put(U, at + j, d - j, get(U, at + j, d - j) * factor)


@inner
def normalise_backward(DU: int, Q: int, row: int, rows: int, d: int, norms: int) -> None:
    """dq to du = (dq - q <q, dq>) / |u|, in place."""
    for b in range(rows):
        at, here = b * d, (row + b) * d
        along = broadcast(0.0)
        for j in range(0, d, LANES):
            along = along + get(DU, at + j, d - j) * get(Q, here + j, d - j)
        along = broadcast(reduce_sum(along))
        factor = broadcast(load_one(norms, row + b))
        for j in range(0, d, LANES):
            m = d - j
            put(DU, at + j, m, (get(DU, at + j, m) - get(Q, here + j, m) * along) * factor)
