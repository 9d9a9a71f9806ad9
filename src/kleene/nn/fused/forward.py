"""The forward pass: one block of sequences through all of time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from kleene.nn.fused.blas import gemm
from kleene.nn.fused.cells import GRU, LSTM, RELU, elman, gru, lstm
from kleene.nn.fused.compile import kernel
from kleene.nn.fused.job import Job, Record
from kleene.nn.fused.rows import copy
from kleene.nn.fused.states import harden, normalise, weigh

CHUNK = 512  # rows of input projected at once: enough for the product, few enough for the cache
ZERO, ONE = np.float32(0.0), np.float32(1.0)


@njit(error_model="numpy")
def elman_rows(
    G: Any, relu: bool, q: int, X: Any, xs: Any, U: Any, u: int, n: int
) -> None:
    """A step of `n` sequences."""
    d = G.shape[1]
    for b in range(n):
        g, x, to = (q + b) * d, xs[b] * d, (u + b) * d
        whole = d - d % 8
        for j in range(0, whole, 8):
            elman(G, g, X, x, U, to, relu, j, 8)
        if whole < d:
            elman(G, g, X, x, U, to, relu, whole, d - whole)


@njit(error_model="numpy")
def gru_rows(G: Any, N: Any, q: int, X: Any, xs: Any, U: Any, u: int, n: int) -> None:
    """A step of `n` sequences."""
    d = N.shape[1]
    for b in range(n):
        g, x, at, to = (q + b) * 4 * d, xs[b] * 3 * d, (q + b) * d, (u + b) * d
        whole = d - d % 8
        for j in range(0, whole, 8):
            gru(G, g, X, x, N, at, U, to, d, j, 8)
        if whole < d:
            gru(G, g, X, x, N, at, U, to, d, whole, d - whole)


@njit(error_model="numpy")
def lstm_rows(
    G: Any,
    C: Any,
    P: Any,
    q: int,
    X: Any,
    xs: Any,
    U: Any,
    u: int,
    n: int,
    B: Any,
    c: int,
    to: int,
) -> None:
    """A step of `n` sequences."""
    d = C.shape[1]
    for b in range(n):
        g, x, before = (q + b) * 4 * d, xs[b] * 4 * d, (c + b) * d
        after, at = (to + b) * d, (u + b) * d
        whole = d - d % 8
        for j in range(0, whole, 8):
            lstm(G, g, X, x, B, before, C, after, U, at, P, d, j, 8)
        if whole < d:
            lstm(G, g, X, x, B, before, C, after, U, at, P, d, whole, d - whole)


@kernel
def forward(job: Job, rec: Record, first: int, end: int, keep: bool) -> None:
    """Run sequences `first` to `end`; with `keep`, leave what the backward pass needs."""
    sgemm, cell, sizes, starts, ids, x = job.sgemm, job.cell, job.sizes, job.starts, job.ids, job.x
    W, bias, H0, M, h_bias, keys = job.W, job.bias, job.H0, job.M, job.h_bias, job.keys
    offsets, noise, peephole, c0 = job.offsets, job.noise, job.peephole, job.c0
    G, N, C, Q, scores, weights = rec.G, rec.N, rec.C, rec.Q, rec.scores, rec.weights
    last_weights, last_memory = rec.last_weights, rec.last_memory
    k, width, time = job.states, G.shape[1], sizes.shape[0]
    d, batch = c0.shape[1], c0.shape[0]
    whole = first == 0 and end == batch
    projected, looked_up = x.shape[0] > 0, ids.shape[0] > 0
    gates = W.shape[0] if projected else job.X.shape[1]
    size = x.shape[1]
    chunk = np.empty((max(CHUNK, end - first) if projected else 0, gates), np.float32)
    chunk_end = 0
    chunk_row = 0
    scratch = np.empty((end - first if k > 0 else 0, d), np.float32)
    xs = np.empty(end - first, np.int64)
    hs = M.shape[1]  # columns that the recurrent product fills

    for t in range(time):
        n = min(sizes[t], end) - first
        if n <= 0:
            break
        p = starts[t] + first
        q = p if keep else first
        before = starts[t - 1] + first if t > 0 else 0

        # the recurrent half
        if t == 0:
            for b in range(n):
                row = first + b if H0.shape[0] > 1 else 0
                copy(G, (q + b) * width, H0, row * width, width)
        elif k > 0:
            gemm(
                sgemm, False, False, n, width, k,
                weights, before * k, k, M, 0, width, ZERO, G, q * width, width,
            )  # fmt: skip
        else:
            biased = h_bias.shape[0] > 0
            for b in range(n):
                if biased:
                    copy(G, (q + b) * width, h_bias, 0, hs)
                if hs < width:
                    copy(G, (q + b) * width + hs, weights, (before + b) * d, d)
            gemm(
                sgemm, False, False, n, hs, d,
                weights, before * d, d, M, 0, hs, ONE if biased else ZERO,
                G, q * width, width,
            )  # fmt: skip

        # the input's half
        if projected:
            if t >= chunk_end:
                chunk_row, rows = p, 0
                while chunk_end < time:
                    more = min(sizes[chunk_end], end) - first
                    if more <= 0 or (rows > 0 and (not whole or rows + more > CHUNK)):
                        break
                    rows += more
                    chunk_end += 1
                biased = bias.shape[0] > 0
                if biased:
                    for b in range(rows):
                        copy(chunk, b * gates, bias, 0, gates)
                gemm(
                    sgemm, False, True, rows, gates, size,
                    x, p * size, size, W, 0, size, ONE if biased else ZERO,
                    chunk, 0, gates,
                )  # fmt: skip
            for b in range(n):
                xs[b] = p - chunk_row + b
        elif looked_up:
            for b in range(n):
                xs[b] = ids[p + b]
        else:
            for b in range(n):
                xs[b] = p + b
        X = chunk if projected else job.X

        # the cell
        if k == 0:
            U, u = weights, p
        elif job.unit:
            U, u = Q, q
        else:
            U, u = scratch, 0
        if cell <= RELU:
            elman_rows(G, cell == RELU, q, X, xs, U, u, n)
        elif cell == GRU:
            gru_rows(G, N, q, X, xs, U, u, n)
        elif t == 0:
            lstm_rows(G, C, peephole, q, X, xs, U, u, n, c0, first, p)
        else:
            lstm_rows(G, C, peephole, q, X, xs, U, u, n, C, before, p)

        # the stochastic component
        if k > 0:
            if job.unit:
                normalise(U, u, n, d, rec.norms, q)
            gemm(
                sgemm, False, True, n, k, d,
                U, u * d, d, keys, 0, d, ZERO, scores, p * k, k,
            )  # fmt: skip
            weigh(scores, weights, p, n, k, offsets, noise, job.inverse[0])
            if job.hard:
                harden(weights, rec.soft, p, q, n, k)

        # sequences that end here
        running = max(0, min(sizes[t + 1], end) - first) if t + 1 < time else 0
        ended, carried = n - running, weights.shape[1]
        if ended > 0:
            at, row = first + running, p + running
            copy(last_weights, at * carried, weights, row * carried, ended * carried)
            if cell >= LSTM:
                copy(last_memory, at * d, C, row * d, ended * d)
