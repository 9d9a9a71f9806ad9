"""The stochastic component, row by row: from scores to weights, and the way back."""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from kleene.nn.fused.kernels.simd import (
    LANES,
    exp,
    full,
    get,
    get_or,
    highest,
    larger,
    load_one,
    put,
    store_one,
    total,
)

LOWEST = np.float32(-np.inf)
LEAST = np.float32(
    -1e20
)  # differences of scores below are no different, and their multiples finite
SHARP, MOST = 1e8, 3e38  # factors from which on only the highest score counts, and the greatest
TINY = np.float32(1e-12)


@njit(error_model="numpy")
def two_parts(factor: float) -> Any:
    """A factor in double precision as two in single precision, so that its rounding does not show
    in every step of a long word. Factors that leave one state only need no second part.
    """
    large = np.float32(min(factor, MOST))
    return full(large), full(np.float32(factor - large if factor < SHARP else 0.0))


@njit(error_model="numpy")
def weigh(
    scores: int, weights: int, row: int, rows: int, k: int, offsets: int, noise: int, inverse: float
) -> None:
    """w = softmax((scores + offsets + noise) / temperature), the scores keeping their offsets."""
    scale, rest = two_parts(inverse)
    moved = offsets != 0 or noise != 0
    source = weights if moved else scores
    for at in range(row * k, (row + rows) * k, k):
        top = full(LOWEST)
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
            top = larger(s, top)
        peak = full(highest(top))
        mass = full(0.0)
        for j in range(0, k, LANES):
            s = larger(get_or(source, at + j, k - j, LOWEST) - peak, full(LEAST))
            e = exp(s * scale + s * rest)
            put(weights, at + j, k - j, e)
            mass = mass + e
        share = full(np.float32(1.0) / total(mass))
        for j in range(0, k, LANES):
            put(weights, at + j, k - j, get(weights, at + j, k - j) * share)


@njit(error_model="numpy")
def weigh_few(
    scores: int, weights: int, row: int, rows: int, k: int, offsets: int, noise: int, inverse: float
) -> None:
    """The same for states that fit into one vector, which never leave the registers."""
    scale, rest = two_parts(inverse)
    for at in range(row * k, (row + rows) * k, k):
        s = get_or(scores, at, k, LOWEST)
        if offsets:
            s = s + get(offsets, 0, k)
            put(scores, at, k, s)
        if noise:
            s = s + get(noise, at, k)
        s = larger(s - full(highest(s)), full(LEAST))
        e = exp(s * scale + s * rest)
        put(weights, at, k, e * full(np.float32(1.0) / total(e)))


@njit(error_model="numpy")
def harden(weights: int, soft: int, row: int, rows: int, k: int) -> None:
    """Keep the weights in `soft`, unless it is 0, and put all the weight on the heaviest state."""
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


@njit(error_model="numpy")
def weigh_back(
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
    scale = full(np.float32(min(inverse, MOST)))
    for b in range(rows):
        at, here = b * k, (row + b) * k
        mean = full(0.0)
        for j in range(0, k, LANES):
            mean = mean + get(D, at + j, k - j) * get(alpha, here + j, k - j)
        mean = full(total(mean))
        raised = full(0.0)
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
            to_inverse += total(raised)
    return to_inverse


@njit(error_model="numpy")
def normalise(U: int, row: int, rows: int, d: int, norms: int, kept: int) -> None:
    """Rows to length 1, and what they were multiplied with."""
    for b in range(rows):
        at = (row + b) * d
        square = full(0.0)
        for j in range(0, d, LANES):
            u = get(U, at + j, d - j)
            square = square + u * u
        inverse = np.float32(1.0) / max(np.float32(math.sqrt(total(square))), TINY)
        if norms:
            store_one(norms, kept + b, inverse)
        factor = full(inverse)
        for j in range(0, d, LANES):
            put(U, at + j, d - j, get(U, at + j, d - j) * factor)


@njit(error_model="numpy")
def normalise_back(DU: int, Q: int, row: int, rows: int, d: int, norms: int) -> None:
    """dq to du = (dq - q <q, dq>) / |u|, in place."""
    for b in range(rows):
        at, here = b * d, (row + b) * d
        along = full(0.0)
        for j in range(0, d, LANES):
            along = along + get(DU, at + j, d - j) * get(Q, here + j, d - j)
        along = full(total(along))
        factor = full(load_one(norms, row + b))
        for j in range(0, d, LANES):
            m = d - j
            put(DU, at + j, m, (get(DU, at + j, m) - get(Q, here + j, m) * along) * factor)
