"""The stochastic component, row by row: from scores to weights, and the way back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from kleene.nn.fused.lanes import exp, full, get, highest, larger, load_part, put, total

LOWEST = np.float32(-np.inf)
TINY = np.float32(1e-12)


@njit(error_model="numpy")
def weigh(
    scores: Any, weights: Any, row: int, rows: int, k: int, offsets: Any, noise: Any, inverse: float
) -> None:
    """w = softmax((scores + offsets + noise) / temperature), the scores keeping their offsets."""
    shifted, noisy = offsets.shape[0] > 0, noise.shape[0] > 0
    for at in range(row * k, (row + rows) * k, k):
        top = full(LOWEST)
        for j in range(0, k, 8):
            m = k - j
            s = get(scores, at + j, m)
            if shifted:
                s = s + get(offsets, j, m)
                put(scores, at + j, m, s)
            if noisy:
                s = s + get(noise, at + j, m)
            put(weights, at + j, m, s)
            if m < 8:
                s = load_part(weights, at + j, m, LOWEST)
            top = larger(s, top)
        peak = full(highest(top))
        mass = full(0.0)
        scale = full(inverse)
        for j in range(0, k, 8):
            m = k - j
            s = get(weights, at + j, m) if m >= 8 else load_part(weights, at + j, m, LOWEST)
            e = exp((s - peak) * scale)
            put(weights, at + j, m, e)
            mass = mass + e
        share = full(np.float32(1.0) / total(mass))
        for j in range(0, k, 8):
            put(weights, at + j, k - j, get(weights, at + j, k - j) * share)


@njit(error_model="numpy")
def harden(weights: Any, soft: Any, row: int, kept: int, rows: int, k: int) -> None:
    """Keep the weights as `soft`, and put all the weight on the heaviest state."""
    for b in range(rows):
        best = 0
        for j in range(k):
            soft[kept + b, j] = weights[row + b, j]
            if weights[row + b, j] > weights[row + b, best]:
                best = j
        for j in range(k):
            weights[row + b, j] = 0.0
        weights[row + b, best] = 1.0


@njit(error_model="numpy")
def weigh_back(
    D: Any,
    first: int,
    alpha: Any,
    scores: Any,
    noise: Any,
    grad_scores: Any,
    row: int,
    rows: int,
    k: int,
    inverse: float,
    DS: Any,
    local: int,
    learn_temperature: bool,
) -> float:
    """Gradient of the scores from that of the weights, and the gradient of 1 / temperature."""
    noisy, graded = noise.shape[0] > 0, grad_scores.shape[0] > 0
    to_inverse = np.float32(0.0)
    scale = full(inverse)
    for b in range(rows):
        at, here, there = (first + b) * k, (row + b) * k, (local + b) * k
        mean = full(0.0)
        for j in range(0, k, 8):
            mean = mean + get(D, at + j, k - j) * get(alpha, here + j, k - j)
        mean = full(total(mean))
        raised = full(0.0)
        for j in range(0, k, 8):
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
            put(DS, there + j, m, ds)
        if learn_temperature:
            to_inverse += total(raised)
    return to_inverse


@njit(error_model="numpy")
def normalise(U: Any, row: int, rows: int, d: int, norms: Any, kept: int) -> None:
    """Rows to length 1, and what they were multiplied with."""
    for b in range(rows):
        at = (row + b) * d
        square = full(0.0)
        for j in range(0, d, 8):
            u = get(U, at + j, d - j)
            square = square + u * u
        inverse = np.float32(1.0) / max(np.float32(math.sqrt(total(square))), TINY)
        norms[kept + b] = inverse
        factor = full(inverse)
        for j in range(0, d, 8):
            put(U, at + j, d - j, get(U, at + j, d - j) * factor)


@njit(error_model="numpy")
def normalise_back(DU: Any, Q: Any, row: int, rows: int, d: int, norms: Any) -> None:
    """dq to du = (dq - q <q, dq>) / |u|, in place."""
    for b in range(rows):
        at, here = b * d, (row + b) * d
        along = full(0.0)
        for j in range(0, d, 8):
            along = along + get(DU, at + j, d - j) * get(Q, here + j, d - j)
        along = full(total(along))
        factor = full(norms[row + b])
        for j in range(0, d, 8):
            m = d - j
            put(DU, at + j, m, (get(DU, at + j, m) - get(Q, here + j, m) * along) * factor)
