"""From the network's weights to the matrices that the loops read, and their gradients back.

M = S R^T + b, the keys and the first step's gates are a few small products. By torch's operations
each would cost a small network as much as several steps of its loop.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import math

import numpy as np

from kleene.compiling import njit
from kleene.nn.fused.kernels.arguments import record
from kleene.nn.fused.kernels.blas import gemm
from kleene.nn.fused.kernels.compile import kernel
from kleene.nn.fused.kernels.matmul import pack_transposed
from kleene.nn.fused.kernels.records import LSTM, InputGrads, Job, WeightGrads, Weights
from kleene.nn.fused.kernels.rows import add, add_rows, copy, fill_zero
from kleene.nn.fused.kernels.simd import load_one, store_one
from kleene.nn.fused.kernels.softmax import TINY, normalise

ZERO, ONE = np.float32(0.0), np.float32(1.0)


@njit(error_model="numpy")
def _gates(job: Job, raw: Weights, rows: int, source: int, bias: int, to: int, width: int) -> None:
    """Rows of `source` times R^T plus the bias; behind them the rows, where the cell reads them."""
    gates, d = job.gates, job.hidden
    gemm(
        job.sgemm, False, True, rows, gates, d, source, 0, d,
        raw.R, 0, d, ZERO, to, 0, width,
    )  # fmt: skip
    for i in range(rows):
        if bias:
            add(to, i * width, bias, 0, gates)
        if gates < width:
            copy(to, i * width + gates, source, i * d, d)


@kernel
def fold(arguments: int) -> None:
    """Write `H0`, `M` and what else of the `Job` is made from the weights."""
    job, raw = record(arguments, Job), record(arguments, Weights)
    gates, d, k, width = job.gates, job.hidden, job.states, job.width
    bias = job.h_bias
    if raw.h_bias and raw.x_bias:
        copy(bias, 0, raw.h_bias, 0, gates)
        add(bias, 0, raw.x_bias, 0, gates)
    elif raw.h_bias or raw.x_bias:
        copy(bias, 0, raw.h_bias or raw.x_bias, 0, gates)
    if not job.shared_start:
        _gates(job, raw, job.batch, raw.hidden, bias, job.H0, width)
    else:
        fill_zero(job.H0, width)
        if bias:
            copy(job.H0, 0, bias, 0, gates)
    if job.cell == LSTM:
        fill_zero(job.peephole, 3 * d)
    if job.few:
        pack_transposed(gates, job.size, job.W, job.W_panels)
    if k == 0:
        for i in range(gates):
            for j in range(d):
                store_one(job.M, j * gates + i, load_one(raw.R, i * d + j))
        return
    _gates(job, raw, k, job.S, bias, job.M, width)
    if job.normalised:
        copy(job.keys, 0, job.S, 0, k * d)
        normalise(job.keys, 0, k, d, 0, 0)
    if job.offsets:
        for i in range(k):
            store_one(job.offsets, i, np.float32(-0.5 * _square(job.S, i * d, d)))


@njit(error_model="numpy")
def _square(source: int, at: int, size: int) -> float:
    total = 0.0
    for j in range(size):
        total += load_one(source, at + j) ** 2
    return total


@njit(error_model="numpy")
def _keys_backward(job: Job, grads: InputGrads, S: int) -> None:
    """Add the gradient of the keys and offsets to that of the centroids."""
    k, d = job.states, job.hidden
    for i in range(k):
        if job.offsets:
            share = load_one(grads.offsets, i)
            for j in range(d):
                at = i * d + j
                store_one(S, at, load_one(S, at) - share * load_one(job.S, at))
        if job.normalised:
            along = ZERO
            for j in range(d):
                along += load_one(grads.keys, i * d + j) * load_one(job.keys, i * d + j)
            norm = max(np.float32(math.sqrt(_square(job.S, i * d, d))), TINY)
            for j in range(d):
                at = i * d + j
                part = (load_one(grads.keys, at) - load_one(job.keys, at) * along) / norm
                store_one(S, at, load_one(S, at) + part)


@kernel
def unfold(arguments: int) -> None:
    """Gradients of the weights from those of what `fold` made of them."""
    job, raw = record(arguments, Job), record(arguments, Weights)
    grads, out = record(arguments, InputGrads), record(arguments, WeightGrads)
    gates, d, k, width, columns = job.gates, job.hidden, job.states, job.width, job.columns
    starts = 1 if job.shared_start else job.batch
    if out.h_bias or out.x_bias:
        total = out.h_bias or out.x_bias
        fill_zero(total, gates)
        add_rows(total, grads.H0, 0, starts, width, gates)
        if k:
            add_rows(total, grads.M, 0, k, columns, gates)
        else:
            add(total, 0, grads.h_bias, 0, gates)
        if out.h_bias and out.x_bias:
            copy(out.x_bias, 0, out.h_bias, 0, gates)
    if out.R:
        if k:
            gemm(
                job.sgemm, True, False, gates, d, k, grads.M, 0, columns,
                job.S, 0, d, ZERO, out.R, 0, d,
            )  # fmt: skip
        else:
            for i in range(gates):
                for j in range(d):
                    store_one(out.R, i * d + j, load_one(grads.M, j * columns + i))
        if not job.shared_start:
            gemm(
                job.sgemm, True, False, gates, d, starts, grads.H0, 0, width,
                raw.hidden, 0, d, ONE, out.R, 0, d,
            )  # fmt: skip
    if out.hidden:
        gemm(
            job.sgemm, False, False, starts, d, gates, grads.H0, 0, width,
            raw.R, 0, d, ZERO, out.hidden, 0, d,
        )  # fmt: skip
        if gates < width:
            for b in range(starts):
                add(out.hidden, b * d, grads.H0, b * width + gates, d)
    if out.S:
        gemm(
            job.sgemm, False, False, k, d, gates, grads.M, 0, columns,
            raw.R, 0, d, ONE, out.S, 0, d,
        )  # fmt: skip
        if gates < columns:
            for i in range(k):
                add(out.S, i * d, grads.M, i * columns + gates, d)
        _keys_backward(job, grads, out.S)
