"""The forward pass: one block of sequences through all of time; a kernel for each cell."""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kleene.nn.fused.kernels.cells import Step, rows_forward
from kleene.nn.fused.kernels.compile import inner, kernel, record
from kleene.nn.fused.kernels.products import (
    FEW_ROWS,
    gemm,
    pack,
    pack_transposed,
    panels,
    times,
    times_transposed,
    worth_packing,
)
from kleene.nn.fused.kernels.records import LANES, Block, ForwardBuffers, Job
from kleene.nn.fused.kernels.rows import (
    copy,
    harden,
    normalise,
    padded,
    softmax,
    softmax_in_registers,
)
from kleene.nn.fused.kernels.simd import load_int, load_one

CHUNK = 512  # rows of input projected at once, if a step has few or by BLAS; else a step's
ZERO, ONE = np.float32(0.0), np.float32(1.0)


@inner
def workspace_size(job: Any, rows: int) -> int:
    """Floats of workspace for `rows` sequences; a `Plan` has the sizes of its `Job`, too."""
    projected = max(CHUNK, rows) * job.gates + padded(job.gates) * job.size if job.size else 0
    packed = job.states * (padded(job.width) + padded(job.hidden))
    packed += padded(job.states) * job.hidden
    return rows * (job.width + job.hidden) + projected + packed


@inner
def recurrent_half(
    job: Job, fwd: ForwardBuffers, H: int, M: int, first: int, before: int, n: int
) -> None:
    """The recurrent half of the gates of a step, from the weights of row `before` on.

    A negative `before` stands for the start, `H0`. `M` are the panels of `job.M`.
    """
    width, d, columns, k = job.width, job.hidden, job.columns, job.states
    if before < 0:
        for b in range(n):
            copy(H, b * width, job.H0, 0 if job.shared_start else (first + b) * width, width)
    elif k:
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


@inner
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


@inner
def transition(job: Job, fwd: ForwardBuffers, keys: int, U: int, p: int, n: int) -> None:
    """The stochastic component: weights of the states from the vectors u, to rows from `p` on.

    `keys` are the panels of `job.keys`, transposed.
    """
    k, d = job.states, job.hidden
    if job.normalised:
        normalise(U, 0, n, d, fwd.norms, p)
        if fwd.Q:
            copy(fwd.Q, p * d, U, 0, n * d)
    times_transposed(job.sgemm, n, k, d, U, 0, d, job.keys, keys, fwd.scores, p * k)
    inverse = 1.0 / load_one(job.temperature, 0)
    if k <= LANES:
        softmax_in_registers(fwd.scores, fwd.weights, p, n, k, job.offsets, job.noise, inverse)
    else:
        softmax(fwd.scores, fwd.weights, p, n, k, job.offsets, job.noise, inverse)
    if job.hard:
        harden(fwd.weights, fwd.soft, p, n, k)


@functools.cache
def forward_kernel(cell: int) -> Any:
    """The kernel of a cell."""
    cell_rows = rows_forward(cell)

    def forward(arguments: int) -> None:
        block = record(arguments, Block)
        workspace, first, end = block.workspace, block.first, block.end
        job, fwd = record(arguments, Job), record(arguments, ForwardBuffers)
        d, k, width, carried = job.hidden, job.states, job.width, job.states or job.hidden
        whole, few = first == 0 and end == job.batch, end - first <= FEW_ROWS
        H = workspace
        U = H + 4 * (end - first) * width
        projected = U + 4 * (end - first) * d
        W, M, S, keys = 0, 0, 0, 0  # the weights as panels
        if worth_packing(end - first, job.time):
            keys = workspace + 4 * (workspace_size(job, end - first) - padded(k) * d)
            S = keys - 4 * k * padded(d)
            M = S - 4 * k * padded(width)
            if fwd.last_hidden:
                pack(d, k, job.S, S)
            pack(width, k, job.M, M)
            pack_transposed(k, d, job.keys, keys)
            if job.x:
                W = M - 4 * padded(job.gates) * job.size
                pack_transposed(job.gates, job.size, job.W, W)
        chunk_end, local, before = 0, 0, -1
        late = fwd.hidden != 0 and job.batch == 1  # hidden vectors of one sequence, all at its end

        for t in range(job.time):
            n = min(load_int(job.sizes, t), end) - first
            if n <= 0:
                break
            p = load_int(job.starts, t) + first
            recurrent_half(job, fwd, H, M, first, before, n)

            X, x = job.X, p
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

            G = fwd.G + 4 * p * width if fwd.G else 0
            B = job.c0 + 4 * first * d if before < 0 else fwd.memory + 4 * before * d
            C, N = fwd.memory + 4 * p * d, fwd.N + 4 * p * d
            step = Step(H, X, job.ids, x, G, N, B, C, job.peephole)
            cell_rows(step, U if k else fwd.weights + 4 * p * d, d, width, job.gates, n)
            if k:
                transition(job, fwd, keys, U, p, n)
            if fwd.hidden and not late:
                times(job.sgemm, n, d, k, fwd.weights, p * k, job.S, S, fwd.hidden, p * d)

            running = 0
            if t + 1 < job.time:
                running = max(0, min(load_int(job.sizes, t + 1), end) - first)
            if running < n:
                to, at, ended = first + running, p + running, n - running
                copy(fwd.last_weights, to * carried, fwd.weights, at * carried, ended * carried)
                if late:
                    gemm(
                        job.sgemm, False, False, p + 1, d, k, fwd.weights, 0, k,
                        job.S, 0, d, ZERO, fwd.hidden, 0, d,
                    )  # fmt: skip
                if fwd.hidden:
                    copy(fwd.last_hidden, to * d, fwd.hidden, at * d, ended * d)
                elif fwd.last_hidden:
                    rows_at, out = fwd.weights + 4 * at * k, fwd.last_hidden + 4 * to * d
                    times(job.sgemm, ended, d, k, rows_at, 0, job.S, S, out, 0)
                if job.c0:
                    copy(fwd.last_memory, to * d, fwd.memory, at * d, ended * d)
            before = p

    forward.__qualname__ = forward.__name__ = f"forward_{cell}"
    return kernel(forward)
