"""The backward pass: one block of sequences back through all of time.

The gradients of the gates of a stretch of time are kept together in the cache and leave it as a few
large products, instead of one small product per step and weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from kleene.nn.fused.blas import gemm
from kleene.nn.fused.cells import GRU, PEEPHOLE, RELU, elman_back, gru_back, lstm_back
from kleene.nn.fused.compile import kernel
from kleene.nn.fused.job import Incoming, Job, Outgoing, Record
from kleene.nn.fused.lanes import put
from kleene.nn.fused.rows import add, add_up, copy
from kleene.nn.fused.states import normalise_back, weigh_back

CHUNK = 512  # rows whose gradients are gathered before they are multiplied
ZERO, ONE = np.float32(0.0), np.float32(1.0)


@njit(error_model="numpy")
def elman_rows_back(
    G: Any, relu: bool, p: int, DU: Any, at_u: int, DH: Any, local: int, U: Any, n: int
) -> None:
    """A step of `n` sequences; the vectors u are left in `U`."""
    d = G.shape[1]
    whole, wanted = d - d % 8, U.shape[0] > 0
    for b in range(n):
        g, du, dh = (p + b) * d, (at_u + b) * d, (local + b) * d
        for j in range(0, whole, 8):
            u = elman_back(G, g, DU, du, DH, dh, relu, j, 8)
            if wanted:
                put(U, dh + j, 8, u)
        if whole < d:
            u = elman_back(G, g, DU, du, DH, dh, relu, whole, d - whole)
            if wanted:
                put(U, dh + whole, d - whole, u)


@njit(error_model="numpy")
def gru_rows_back(
    G: Any, N: Any, p: int, DU: Any, at_u: int, DH: Any, DX: Any, local: int, U: Any, n: int
) -> None:
    """A step of `n` sequences; the vectors u are left in `U`."""
    d = N.shape[1]
    whole, wanted = d - d % 8, U.shape[0] > 0
    for b in range(n):
        g, q, du = (p + b) * 4 * d, (p + b) * d, (at_u + b) * d
        dh, dx, at = (local + b) * 4 * d, (local + b) * 3 * d, (local + b) * d
        for j in range(0, whole, 8):
            u = gru_back(G, g, N, q, DU, du, DH, dh, DX, dx, d, j, 8)
            if wanted:
                put(U, at + j, 8, u)
        if whole < d:
            u = gru_back(G, g, N, q, DU, du, DH, dh, DX, dx, d, whole, d - whole)
            if wanted:
                put(U, at + whole, d - whole, u)


@njit(error_model="numpy")
def lstm_rows_back(
    G: Any,
    C: Any,
    P: Any,
    peephole: bool,
    p: int,
    B: Any,
    before: int,
    DU: Any,
    at_u: int,
    DC: Any,
    first: int,
    DH: Any,
    local: int,
    DP: Any,
    U: Any,
    n: int,
) -> None:
    """A step of `n` sequences; the vectors u are left in `U`."""
    d = C.shape[1]
    whole, wanted = d - d % 8, U.shape[0] > 0
    for b in range(n):
        g, old, c, du = (p + b) * 4 * d, (before + b) * d, (p + b) * d, (at_u + b) * d
        dc, dh, at = (first + b) * d, (local + b) * 4 * d, (local + b) * d
        for j in range(0, whole, 8):
            u = lstm_back(
                G, g, B, old, C, c, DU, du, DC, dc, DH, dh, P, DP, peephole, d, j, 8
            )  # fmt: skip
            if wanted:
                put(U, at + j, 8, u)
        if whole < d:
            m = d - whole
            u = lstm_back(
                G, g, B, old, C, c, DU, du, DC, dc, DH, dh, P, DP, peephole, d, whole, m
            )  # fmt: skip
            if wanted:
                put(U, at + whole, m, u)


@kernel
def backward(
    job: Job, rec: Record, given: Incoming, out: Outgoing, first: int, end: int
) -> None:
    """Gradients of sequences `first` to `end`."""
    sgemm, cell, sizes, starts, ids, x = job.sgemm, job.cell, job.sizes, job.starts, job.ids, job.x
    W, H0, M, keys, noise, c0 = job.W, job.H0, job.M, job.keys, job.noise, job.c0
    peephole = job.peephole
    G, N, C, Q, scores, weights = rec.G, rec.N, rec.C, rec.Q, rec.scores, rec.weights
    k, width, time = job.states, G.shape[1], sizes.shape[0]
    d, batch = c0.shape[1], c0.shape[0]
    hs = M.shape[1]
    carried = k if k > 0 else d
    whole = first == 0 and end == batch
    projected, looked_up = x.shape[0] > 0, ids.shape[0] > 0
    gates = W.shape[0] if projected else job.X.shape[1]
    size = x.shape[1]
    while time > 0 and sizes[time - 1] <= first:
        time -= 1

    room = max(CHUNK, end - first)
    DH = np.empty((room, width), np.float32)
    DX = np.empty((room, gates), np.float32) if cell == GRU else DH
    W_prev = np.empty((room, carried), np.float32)
    DS = np.empty((room if k > 0 else 0, k), np.float32)
    U = np.empty((room if k > 0 and out.keys.shape[0] > 0 else 0, d), np.float32)
    DU = np.empty((end - first if k > 0 else 0, d), np.float32)
    copy_x = out.W.shape[0] > 0 and not whole
    x_rows = np.empty((room if copy_x else 0, size), np.float32)
    alpha = rec.soft if job.hard else weights
    to_inverse = 0.0
    after, after_local = 0, 0  # how many sequences run in the step above, and their rows in DH

    stop = time
    while stop > 0:
        begin, rows = stop, 0
        while begin > 0:
            more = min(sizes[begin - 1], end) - first
            if rows > 0 and rows + more > CHUNK:
                break
            rows += more
            begin -= 1

        local = rows
        for t in range(stop - 1, begin - 1, -1):
            n = min(sizes[t], end) - first
            p = starts[t] + first
            before = starts[t - 1] + first if t > 0 else 0
            local -= n

            # what arrives at the weights: from the step above, and from outside
            if after > 0:
                gemm(
                    sgemm, False, True, after, carried, hs,
                    DH, after_local * width, width, M, 0, hs, ZERO,
                    out.D, first * carried, carried,
                )  # fmt: skip
                if hs < width:
                    for b in range(after):
                        add(out.D, (first + b) * d, DH, (after_local + b) * width + hs, d)
            if given.weights.shape[0] > 0:
                add(out.D, first * carried, given.weights, p * carried, n * carried)
            if given.memory.shape[0] > 0:
                add(out.DC, first * d, given.memory, p * d, n * d)

            # the stochastic component
            if k > 0:
                to_inverse += weigh_back(
                    out.D, first, alpha, scores, noise, given.scores, p, n, k,
                    job.inverse[0], DS, local, out.inverse.shape[0] > 0,
                )  # fmt: skip
                gemm(
                    sgemm, False, False, n, d, k,
                    DS, local * k, k, keys, 0, d, ZERO, DU, 0, d,
                )  # fmt: skip
                if job.unit:
                    normalise_back(DU, Q, p, n, d, rec.norms)
                grad_u, at_u = DU, 0
            else:
                grad_u, at_u = out.D, first

            # the cell
            if cell <= RELU:
                elman_rows_back(G, cell == RELU, p, grad_u, at_u, DH, local, U, n)
            elif cell == GRU:
                gru_rows_back(G, N, p, grad_u, at_u, DH, DX, local, U, n)
            else:
                B = C if t > 0 else c0
                lstm_rows_back(
                    G, C, peephole, cell == PEEPHOLE, p,
                    B, before if t > 0 else first, grad_u, at_u, out.DC, first,
                    DH, local, out.peephole, U, n,
                )  # fmt: skip

            # what the products of this stretch of time will need
            if t > 0:
                copy(W_prev, local * carried, weights, before * carried, n * carried)
            if job.unit and U.shape[0] > 0:
                copy(U, local * d, Q, p * d, n * d)
            if copy_x:
                copy(x_rows, local * size, x, p * size, n * size)
            after, after_local = n, local

        # the recurrent weights; the first step has its own
        skip = min(sizes[0], end) - first if begin == 0 else 0
        if begin == 0 and out.H0.shape[0] > 0:
            if H0.shape[0] > 1:
                copy(out.H0, first * width, DH, 0, skip * width)
            else:
                add_up(out.H0, DH, 0, skip, width, width)
        if rows > skip:
            gemm(
                sgemm, True, False, carried, hs, rows - skip,
                W_prev, skip * carried, carried, DH, skip * width, width, ONE, out.M, 0, hs,
            )  # fmt: skip
            if out.h_bias.shape[0] > 0:
                add_up(out.h_bias, DH, skip, rows - skip, width, hs)
        if k > 0 and out.keys.shape[0] > 0:
            gemm(
                sgemm, True, False, k, d, rows, DS, 0, k, U, 0, d, ONE, out.keys, 0, d
            )  # fmt: skip
        if k > 0 and out.offsets.shape[0] > 0:
            add_up(out.offsets, DS, 0, rows, k, k)

        # the input
        if out.W.shape[0] > 0:
            source = x_rows if copy_x else x
            at = 0 if copy_x else starts[begin] * size
            gemm(
                sgemm, True, False, gates, size, rows,
                DX, 0, gates, source, at, size, ONE, out.W, 0, size,
            )  # fmt: skip
        if out.bias.shape[0] > 0:
            add_up(out.bias, DX, 0, rows, gates, gates)
        if out.x.shape[0] > 0 and whole:
            gemm(
                sgemm, False, False, rows, size, gates,
                DX, 0, gates, W, 0, size, ZERO, out.x, starts[begin] * size, size,
            )  # fmt: skip
        local = 0
        for t in range(begin, stop):
            n = min(sizes[t], end) - first
            p = starts[t] + first
            if out.x.shape[0] > 0 and not whole:
                gemm(
                    sgemm, False, False, n, size, gates,
                    DX, local * gates, gates, W, 0, size, ZERO, out.x, p * size, size,
                )  # fmt: skip
            if out.X.shape[0] > 0 and looked_up:
                for b in range(n):
                    add(out.X, ids[p + b] * gates, DX, (local + b) * gates, gates)
            elif out.X.shape[0] > 0 and not projected:
                copy(out.X, p * gates, DX, local * gates, n * gates)
            local += n
        stop = begin
    if out.inverse.shape[0] > 0:
        out.inverse[0] += to_inverse
