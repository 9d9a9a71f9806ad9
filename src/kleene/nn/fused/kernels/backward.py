"""The backward pass: one block of sequences, from the last time step to the first.

The gradients of the gates of a chunk of time are collected in the cache and multiplied at once: a
few large products instead of a small one per step and weight.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kleene.nn.fused.kernels.cells import StepBack, rows_backward
from kleene.nn.fused.kernels.compile import inner, kernel, record
from kleene.nn.fused.kernels.products import (
    add_outer,
    gemm,
    pack,
    pack_transposed,
    times,
    times_transposed,
    worth_packing,
)
from kleene.nn.fused.kernels.records import Block, ForwardBuffers, InputGrads, Job, OutputGrads
from kleene.nn.fused.kernels.rows import (
    add,
    add_rows,
    copy,
    fill_zero,
    normalise_backward,
    pad_rows,
    padded,
    softmax_backward,
    unpad_rows,
)
from kleene.nn.fused.kernels.simd import load_int, load_one, store_one

CHUNK = 512  # rows of gradients that are collected before they are multiplied
ZERO, ONE = np.float32(0.0), np.float32(1.0)


@inner
def workspace_size(job: Any, rows: int) -> int:
    """Floats of workspace for `rows` sequences; a `Plan` has the sizes of its `Job`, too."""
    chunk = max(CHUNK, rows)
    row = job.width + job.gates + 2 * (job.states or job.hidden) + job.hidden + job.size
    packed = padded(job.states or job.hidden) * job.width + job.states * padded(job.hidden)
    packed += padded(job.states) * job.hidden
    own = rows * (job.hidden + 2 * (job.states or job.hidden)) + (rows + 3) * padded(job.hidden)
    return chunk * row + own + packed


@inner
def transition_backward(
    job: Job,
    fwd: ForwardBuffers,
    grads: OutputGrads,
    keys: int,
    p: int,
    D: int,
    DS: int,
    DU: int,
    n: int,
    learn: bool,
) -> float:
    """From the gradient of the weights to those of the scores, `DS`, and of u, `DU`.

    `keys` are the panels of `job.keys`.
    """
    k, d = job.states, job.hidden
    alpha = fwd.soft if job.hard else fwd.weights
    inverse = 1.0 / load_one(job.temperature, 0)
    to_inverse = softmax_backward(
        D, alpha, fwd.scores, job.noise, grads.scores, p, n, k, inverse, DS, learn
    )
    times(job.sgemm, n, d, k, DS, 0, job.keys, keys, DU, 0)
    if job.normalised:
        normalise_backward(DU, fwd.Q, p, n, d, fwd.norms)
    return to_inverse


@inner
def weights_backward(
    job: Job, out: InputGrads, DH: int, V: int, DS: int, U: int, first: int, rows: int, skip: int
) -> None:
    """Gradients of the recurrent weights and centroids from a chunk of time.

    Its first `skip` rows are the first step, whose recurrent half is `H0`.
    """
    k, d, width = job.states, job.hidden, job.width
    carried = k or d
    if skip and out.H0:
        if job.shared_start:
            add_rows(out.H0, DH, 0, skip, width, width)
        else:
            copy(out.H0, first * width, DH, 0, skip * width)
    if out.M and rows > skip:
        add_outer(
            carried, job.columns, rows - skip, V, skip * carried, carried,
            DH, skip * width, width, out.M,
        )  # fmt: skip
    if out.h_bias:
        add_rows(out.h_bias, DH, skip, rows - skip, width, job.columns)
    if out.keys:
        add_outer(k, d, rows, DS, 0, k, U, 0, d, out.keys)
    if out.offsets:
        add_rows(out.offsets, DS, 0, rows, k, k)


@inner
def mixtures_backward(
    job: Job,
    fwd: ForwardBuffers,
    grads: OutputGrads,
    out: InputGrads,
    first: int,
    end: int,
    t: int,
    stop: int,
) -> None:
    """Gradient of the centroids from the hidden vectors h = w S of steps `t` to `stop`."""
    k, d = job.states, job.hidden
    whole = first == 0 and end == job.batch
    while t < stop:
        p = load_int(job.starts, t) + first
        t = stop if whole else t + 1
        last = load_int(job.starts, t - 1) + first
        rows = last + min(load_int(job.sizes, t - 1), end) - first - p
        add_outer(k, d, rows, fwd.weights, p * k, k, grads.hidden, p * d, d, out.S)


@inner
def inputs_backward(
    job: Job,
    out: InputGrads,
    DX: int,
    source: int,
    first: int,
    end: int,
    t: int,
    stop: int,
    rows: int,
) -> None:
    """Gradients of the input and its weights from steps `t` to `stop`; `source` holds their x."""
    gates, size = job.gates, job.size
    if out.W:
        add_outer(gates, size, rows, DX, 0, gates, source, 0, size, out.W)
    if out.bias:
        add_rows(out.bias, DX, 0, rows, gates, gates)
    whole = first == 0 and end == job.batch
    if out.x and whole:
        gemm(
            job.sgemm, False, False, rows, size, gates, DX, 0, gates,
            job.W, 0, size, ZERO, out.x, load_int(job.starts, t) * size, size,
        )  # fmt: skip
    if not (out.X or (out.x and not whole)):
        return
    local = 0
    while t < stop:
        n = min(load_int(job.sizes, t), end) - first
        p = load_int(job.starts, t) + first
        if out.x:
            gemm(
                job.sgemm, False, False, n, size, gates, DX, local * gates, gates,
                job.W, 0, size, ZERO, out.x, p * size, size,
            )  # fmt: skip
        elif job.ids:
            for b in range(n):
                row = load_int(job.ids, p + b)
                add(out.X, row * gates, DX, (local + b) * gates, gates)
        else:
            copy(out.X, p * gates, DX, local * gates, n * gates)
        local += n
        t += 1


@inner
def last_backward(
    job: Job,
    fwd: ForwardBuffers,
    grads: OutputGrads,
    out: InputGrads,
    D: int,
    first: int,
    end: int,
) -> None:
    """Gradient of the weights `D`, and of the centroids, from the results after the last step."""
    k, d = job.states, job.hidden
    carried = k or d
    rows = min(end, load_int(job.sizes, 0)) - first
    fill_zero(D, (end - first) * carried)
    if rows <= 0:
        return
    if grads.last_weights:
        copy(D, 0, grads.last_weights, first * carried, rows * carried)
    if grads.last_hidden:
        gemm(
            job.sgemm, False, True, rows, k, d, grads.last_hidden, first * d, d,
            job.S, 0, d, ONE, D, 0, k,
        )  # fmt: skip
        if out.S:
            at = first * d
            add_outer(k, d, rows, fwd.last_weights, first * k, k, grads.last_hidden, at, d, out.S)


@inner
def clear(job: Job, out: InputGrads) -> None:
    """Zeros where the gradients of all steps are added up."""
    k, d, gates, width = job.states, job.hidden, job.gates, job.width
    for sums, floats in (
        (out.W, gates * job.size),
        (out.bias, gates),
        (out.H0, width * (1 if job.shared_start else job.batch)),
        (out.M, (k or d) * job.columns),
        (out.h_bias, gates),
        (out.S, k * d),
        (out.keys, k * d),
        (out.offsets, k),
    ):
        if sums:
            fill_zero(sums, floats)


@functools.cache
def backward_kernel(cell: int) -> Any:
    """The kernel of a cell: gradients of a block of sequences."""
    cell_rows = rows_backward(cell)

    def backward(arguments: int) -> None:
        block = record(arguments, Block)
        workspace, first, end = block.workspace, block.first, block.end
        job, fwd = record(arguments, Job), record(arguments, ForwardBuffers)
        grads, out = record(arguments, OutputGrads), record(arguments, InputGrads)
        clear(job, out)
        d, k, width, columns, size = job.hidden, job.states, job.width, job.columns, job.size
        carried = k or d
        chunk = max(CHUNK, end - first)
        DH = workspace  # gradients of the recurrent half of the gates
        DX = DH + 4 * chunk * width if job.gates < width else DH  # and of the input's
        V = workspace + 4 * chunk * (width + job.gates)  # weights of the steps before
        DS = V + 4 * chunk * carried  # gradients of the scores
        U = DS + 4 * chunk * carried  # vectors u
        x_rows = U + 4 * chunk * d
        DU = x_rows + 4 * chunk * size
        DC = DU + 4 * (end - first) * d  # gradients of the memory, its rows padded
        DP = DC + 4 * (end - first) * padded(d)  # gradients of the peepholes, likewise
        DW = DP + 4 * 3 * padded(d)  # gradients of the weights from those of the hidden vectors
        D = DW + 4 * (end - first) * carried  # gradients of the weights
        if job.c0:
            if grads.last_memory:
                pad_rows(DC, grads.last_memory + 4 * first * d, d, end - first)
            else:
                fill_zero(DC, (end - first) * padded(d))
            fill_zero(DP, 3 * padded(d))
        last_backward(job, fwd, grads, out, D, first, end)
        M, S, keys = 0, 0, 0  # the weights as panels
        if worth_packing(end - first, job.time):
            keys = workspace + 4 * (workspace_size(job, end - first) - k * padded(d))
            S = keys - 4 * padded(k) * d
            M = S - 4 * padded(carried) * width
            if grads.hidden:
                pack_transposed(k, d, job.S, S)
            pack(d, k, job.keys, keys)
            pack_transposed(carried, columns, job.M, M)
        copy_x = out.W != 0 and not (first == 0 and end == job.batch)
        to_inverse = 0.0
        above = 0  # sequences in the step above, whose rows come first in DH

        stop = job.time
        while stop > 0 and load_int(job.sizes, stop - 1) <= first:
            stop -= 1
        while stop > 0:
            begin, rows = stop, 0
            while begin > 0:
                more = min(load_int(job.sizes, begin - 1), end) - first
                if rows > 0 and rows + more > CHUNK:
                    break
                rows += more
                begin -= 1

            local, above_at = rows, 0
            for t in range(stop - 1, begin - 1, -1):
                n = min(load_int(job.sizes, t), end) - first
                p = load_int(job.starts, t) + first
                before = load_int(job.starts, t - 1) + first if t > 0 else 0
                local -= n
                if above > 0:
                    at = above_at * width
                    times_transposed(
                        job.sgemm, above, carried, columns, DH, at, width, job.M, M, D, 0
                    )
                    if columns < width:
                        for b in range(above):
                            add(D, b * d, DH, (above_at + b) * width + columns, d)
                if grads.weights:
                    add(D, 0, grads.weights, p * carried, n * carried)
                if grads.hidden:
                    times_transposed(job.sgemm, n, k, d, grads.hidden, p * d, d, job.S, S, DW, 0)
                    add(D, 0, DW, 0, n * k)
                if grads.memory:
                    for b in range(n):
                        add(DC, b * padded(d), grads.memory, (p + b) * d, d)
                du, u = D, U + 4 * local * d
                if k:
                    ds, learn, du = DS + 4 * local * k, out.temperature != 0, DU
                    to_inverse += transition_backward(job, fwd, grads, keys, p, D, ds, DU, n, learn)
                B = fwd.memory + 4 * before * d if t > 0 else job.c0 + 4 * first * d
                dh, dx = DH + 4 * local * width, DX + 4 * local * job.gates
                G, N, C = fwd.G + 4 * p * width, fwd.N + 4 * p * d, fwd.memory + 4 * p * d
                cell_rows(StepBack(G, N, B, C, job.peephole, du, DC, DP, dh, dx), u, d, n)
                if t > 0:
                    copy(V, local * carried, fwd.weights, before * carried, n * carried)
                if job.normalised:
                    copy(U, local * d, fwd.Q, p * d, n * d)
                if copy_x:
                    copy(x_rows, local * size, job.x, p * size, n * size)
                above, above_at = n, local

            skip = min(load_int(job.sizes, 0), end) - first if begin == 0 else 0
            weights_backward(job, out, DH, V, DS, U, first, rows, skip)
            if out.S and grads.hidden:
                mixtures_backward(job, fwd, grads, out, first, end, begin, stop)
            source = x_rows if copy_x else job.x + 4 * load_int(job.starts, begin) * size
            inputs_backward(job, out, DX, source, first, end, begin, stop, rows)
            stop = begin
        if out.temperature:
            temperature = load_one(job.temperature, 0)
            store_one(out.temperature, 0, np.float32(-to_inverse / temperature / temperature))
        if out.c0:
            unpad_rows(out.c0 + 4 * first * d, DC, d, end - first)
        if out.peephole:
            unpad_rows(out.peephole, DP, d, 3)

    backward.__qualname__ = backward.__name__ = f"backward_{cell}"
    return kernel(backward)
