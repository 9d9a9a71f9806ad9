"""The forward pass: one block of sequences through all of time."""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from kleene.compiling import njit
from kleene.nn.fused.kernels.arguments import record
from kleene.nn.fused.kernels.blas import gemm
from kleene.nn.fused.kernels.cells import elman, gru, lstm
from kleene.nn.fused.kernels.compile import kernel
from kleene.nn.fused.kernels.matmul import (
    pack,
    pack_transposed,
    panels,
    times,
    times_transposed,
    worth_packing,
)
from kleene.nn.fused.kernels.records import FEW_ROWS, GRU, LSTM, RELU, Block, ForwardBuffers, Job
from kleene.nn.fused.kernels.rows import copy, padded
from kleene.nn.fused.kernels.simd import LANES, load_int, load_one, put, store
from kleene.nn.fused.kernels.softmax import harden, normalise, softmax, softmax_in_registers

CHUNK = 512  # rows of input projected at once, if a step has few or by BLAS; else a step's
ZERO, ONE = np.float32(0.0), np.float32(1.0)


@register_jitable
def workspace_size(job: Any, rows: int) -> int:
    """Floats of workspace for `rows` sequences; a `Plan` has the sizes of its `Job`, too."""
    projected = max(CHUNK, rows) * job.gates + padded(job.gates) * job.size if job.size else 0
    packed = job.states * (padded(job.width) + padded(job.hidden))
    packed += padded(job.states) * job.hidden
    return rows * (job.width + job.hidden) + projected + packed


@njit(error_model="numpy")
def elman_rows(
    H: int, X: int, ids: int, x: int, G: int, U: int, d: int, relu: bool, n: int
) -> None:
    """A step of `n` sequences."""
    whole = d - d % LANES
    for b in range(n):
        at, r = (load_int(ids, x + b) if ids else x + b) * d, b * d
        if whole < d:  # first, since it may overwrite the beginning of the next row
            m = d - whole
            s = (n - b) * d - whole
            put(U, r + whole, s, elman(H, r, X, at, G, r, relu, whole, m, s))
        for j in range(0, whole, LANES):
            store(U, r + j, elman(H, r, X, at, G, r, relu, j, LANES, LANES))


@njit(error_model="numpy")
def gru_rows(H: int, X: int, ids: int, x: int, G: int, N: int, U: int, d: int, n: int) -> None:
    """A step of `n` sequences."""
    whole = d - d % LANES
    for b in range(n):
        at = (load_int(ids, x + b) if ids else x + b) * 3 * d
        h, u = b * 4 * d, b * d
        if whole < d:
            m = d - whole
            s = (n - b) * d - whole
            put(U, u + whole, s, gru(H, h, X, at, G, h, N, u, d, whole, m, s))
        for j in range(0, whole, LANES):
            store(U, u + j, gru(H, h, X, at, G, h, N, u, d, j, LANES, LANES))


@njit(error_model="numpy")
def lstm_rows(
    H: int,
    X: int,
    ids: int,
    x: int,
    G: int,
    B: int,
    C: int,
    P: int,
    U: int,
    d: int,
    n: int,
) -> None:
    """A step of `n` sequences."""
    whole = d - d % LANES
    for b in range(n):
        at = (load_int(ids, x + b) if ids else x + b) * 4 * d
        h, u = b * 4 * d, b * d
        if whole < d:
            m = d - whole
            s = (n - b) * d - whole
            put(U, u + whole, s, lstm(H, h, X, at, G, h, B, u, C, u, P, d, whole, m, s))
        for j in range(0, whole, LANES):
            store(U, u + j, lstm(H, h, X, at, G, h, B, u, C, u, P, d, j, LANES, LANES))


@njit(error_model="numpy")
def recurrent_half(
    job: Job, fwd: ForwardBuffers, H: int, M: int, first: int, before: int, n: int
) -> None:
    """The recurrent half of the gates of a step, from the weights of row `before` on.

    A negative `before` stands for the start, `H0`. `M` are the panels of `job.M`.
    """
    width, d, columns = job.width, job.hidden, job.columns
    if before < 0:
        for b in range(n):
            copy(H, b * width, job.H0, 0 if job.shared_start else (first + b) * width, width)
    elif job.states:
        k = job.states
        times(job.sgemm, n, width, k, fwd.weights, before * k, job.M, M, H, 0)
    else:
        for b in range(n):
            if job.h_bias:
                copy(H, b * width, job.h_bias, 0, columns)
            if columns < width:
                copy(H, b * width + columns, fwd.weights, (before + b) * d, d)
        gemm(
            job.sgemm, False, False, n, columns, d, fwd.weights, before * d, d,
            job.M, 0, columns, ONE if job.h_bias else ZERO, H, 0, width,
        )  # fmt: skip


@njit(error_model="numpy")
def project(job: Job, W: int, row: int, rows: int, to: int) -> None:
    """W x + b of some rows of input; `W` are the panels of `job.W`, or 0."""
    gates, size, at = job.gates, job.size, row * job.size
    if W:
        panels(job.bias, rows, gates, size, job.x, at, size, W, to, 0)
        return
    if job.bias:
        for b in range(rows):
            copy(to, b * gates, job.bias, 0, gates)
    gemm(
        job.sgemm, False, True, rows, gates, size, job.x, at, size,
        job.W, 0, size, ONE if job.bias else ZERO, to, 0, gates,
    )  # fmt: skip


@njit(error_model="numpy")
def transition(job: Job, fwd: ForwardBuffers, keys: int, U: int, p: int, q: int, n: int) -> None:
    """The stochastic component: weights of the states from the vectors u; scores go to row `q`.

    `keys` are the panels of `job.keys`, transposed.
    """
    k, d = job.states, job.hidden
    scores = fwd.scores + 4 * (q - p) * k
    if job.normalised:
        normalise(U, 0, n, d, fwd.norms, p)
        if fwd.Q:
            copy(fwd.Q, p * d, U, 0, n * d)
    times_transposed(job.sgemm, n, k, d, U, 0, d, job.keys, keys, scores, p * k)
    inverse = 1.0 / load_one(job.temperature, 0)
    if k <= LANES:
        softmax_in_registers(scores, fwd.weights, p, n, k, job.offsets, job.noise, inverse)
    else:
        softmax(scores, fwd.weights, p, n, k, job.offsets, job.noise, inverse)
    if job.hard:
        harden(fwd.weights, fwd.soft, p, n, k)


@kernel
def forward(arguments: int) -> None:
    """Run a block of sequences."""
    block = record(arguments, Block)
    workspace, first, end, begin = block.workspace, block.first, block.end, block.begin
    job, fwd = record(arguments, Job), record(arguments, ForwardBuffers)
    d, carried = job.hidden, job.states or job.hidden
    whole, few = first == 0 and end == job.batch, end - first <= FEW_ROWS
    H = workspace
    U = H + 4 * (end - first) * job.width
    projected = U + 4 * (end - first) * d
    W, M, S, keys = job.W_panels, 0, 0, 0  # the weights as panels
    if worth_packing(end - first, job.time - begin):
        keys = workspace + 4 * (workspace_size(job, end - first) - padded(job.states) * d)
        S = keys - 4 * job.states * padded(d)
        M = S - 4 * job.states * padded(job.width)
        if fwd.last_hidden:
            pack(d, job.states, job.S, S)
        pack(job.width, job.states, job.M, M)
        pack_transposed(job.states, d, job.keys, keys)
        if job.x:
            W = M - 4 * padded(job.gates) * job.size
            pack_transposed(job.gates, job.size, job.W, W)
    chunk_end, local, before = begin, 0, -1
    if begin:
        before = load_int(job.starts, begin - 1) + first
    left = before  # the row of the memory of the step before
    late = fwd.hidden != 0 and job.batch == 1  # the hidden vectors of one sequence, all at its end

    for t in range(begin, job.time):
        n = min(load_int(job.sizes, t), end) - first
        if n <= 0:
            break
        p = load_int(job.starts, t) + first
        q = (t % 2) * job.batch + first if job.two_steps else p
        recurrent_half(job, fwd, H, M, first, before, n)

        X, ids, x = job.X, job.ids, p
        if job.x:
            if t >= chunk_end:
                local, rows = 0, 0
                while chunk_end < job.time and (rows == 0 or (whole and (few or not W))):
                    more = min(load_int(job.sizes, chunk_end), end) - first
                    if rows > 0 and rows + more > CHUNK:
                        break
                    rows += more
                    chunk_end += 1
                project(job, W, p, rows, projected)
            X, x = projected, local
            local += n

        G = fwd.G + 4 * p * job.width if fwd.G else 0
        u = U if job.states else fwd.weights + 4 * p * d
        if job.cell <= RELU:
            elman_rows(H, X, ids, x, G, u, d, job.cell == RELU, n)
        elif job.cell == GRU:
            gru_rows(H, X, ids, x, G, fwd.N + 4 * p * d, u, d, n)
        else:
            B = job.c0 + 4 * first * d if before < 0 else fwd.memory + 4 * left * d
            lstm_rows(H, X, ids, x, G, B, fwd.memory + 4 * q * d, job.peephole, u, d, n)
        if job.states:
            transition(job, fwd, keys, U, p, q, n)
        if fwd.hidden and not late:
            k = job.states
            times(job.sgemm, n, d, k, fwd.weights, p * k, job.S, S, fwd.hidden, p * d)

        running = 0
        if t + 1 < job.time:
            running = max(0, min(load_int(job.sizes, t + 1), end) - first)
        if running < n:
            to, at, ended = first + running, p + running, n - running
            copy(fwd.last_weights, to * carried, fwd.weights, at * carried, ended * carried)
            if late:
                k = job.states
                gemm(
                    job.sgemm, False, False, p + 1, d, k, fwd.weights, 0, k,
                    job.S, 0, d, ZERO, fwd.hidden, 0, d,
                )  # fmt: skip
            if fwd.hidden:
                copy(fwd.last_hidden, to * d, fwd.hidden, at * d, ended * d)
            elif fwd.last_hidden:
                k = job.states
                times(
                    job.sgemm, ended, d, k, fwd.weights, at * k,
                    job.S, S, fwd.last_hidden, to * d,
                )  # fmt: skip
            if job.cell >= LSTM:
                copy(fwd.last_memory, to * d, fwd.memory, (q + running) * d, ended * d)
        before, left = p, q
