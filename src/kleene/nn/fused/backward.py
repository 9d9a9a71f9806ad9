"""The backward pass: one block of sequences back through all of time.

The gradients of the gates of a stretch of time are kept together in the cache and leave it as a few
large products, instead of one small product per step and weight.
"""

# mypy: ignore-errors
# Compiled code: Numba infers the types, which mypy cannot see.
from __future__ import annotations

import numpy as np
from numba import njit

from kleene.nn.fused.blas import gemm
from kleene.nn.fused.cells import GRU, RELU, elman_back, gru_back, lstm_back
from kleene.nn.fused.compile import kernel
from kleene.nn.fused.job import Incoming, Job, Outgoing, Record
from kleene.nn.fused.lanes import LANES, get, load_one, load_whole, put, store_one
from kleene.nn.fused.rows import add, add_up, copy
from kleene.nn.fused.small import times, times_transposed
from kleene.nn.fused.states import normalise_back, weigh_back

CHUNK = 512  # rows whose gradients are gathered before they are multiplied
ZERO, ONE = np.float32(0.0), np.float32(1.0)


def room(job: Job, rows: int) -> int:
    """Floats of scratch that a block of `rows` sequences needs."""
    chunk = max(CHUNK, rows)
    row = job.width + job.gates + 2 * (job.states or job.hidden) + job.hidden + job.size
    return chunk * row + rows * job.hidden + 3 * job.hidden


@njit(error_model="numpy")
def elman_rows_back(G: int, p: int, DU: int, DH: int, U: int, d: int, relu: bool, n: int) -> None:
    """A step of `n` sequences; the vectors u are left in `U`."""
    whole = d - d % LANES
    for b in range(n):
        g, r = (p + b) * d, b * d
        for j in range(0, whole, LANES):
            put(U, r + j, LANES, elman_back(G, g, get(DU, r + j, LANES), DH, r, relu, j, LANES))
        if whole < d:
            m = d - whole
            du = get(DU, r + whole, m)
            put(U, r + whole, m, elman_back(G, g, du, DH, r, relu, whole, m))


@njit(error_model="numpy")
def gru_rows_back(
    G: int, N: int, p: int, DU: int, DH: int, DX: int, U: int, d: int, n: int
) -> None:
    """A step of `n` sequences; the vectors u are left in `U`."""
    whole = d - d % LANES
    for b in range(n):
        g, q, r, h, x = (p + b) * 4 * d, (p + b) * d, b * d, b * 4 * d, b * 3 * d
        for j in range(0, whole, LANES):
            u = gru_back(G, g, N, q, get(DU, r + j, LANES), DH, h, DX, x, d, j, LANES)
            put(U, r + j, LANES, u)
        if whole < d:
            m = d - whole
            u = gru_back(G, g, N, q, get(DU, r + whole, m), DH, h, DX, x, d, whole, m)
            put(U, r + whole, m, u)


@njit(error_model="numpy")
def lstm_rows_back(
    G: int,
    B: int,
    C: int,
    p: int,
    DU: int,
    DC: int,
    DH: int,
    P: int,
    DP: int,
    U: int,
    d: int,
    n: int,
) -> None:
    """A step of `n` sequences; the vectors u are left in `U`."""
    whole = d - d % LANES
    for b in range(n):
        g, c, r, h = (p + b) * 4 * d, (p + b) * d, b * d, b * 4 * d
        for j in range(0, whole, LANES):
            du = get(DU, r + j, LANES)
            put(U, r + j, LANES, lstm_back(G, g, B, r, C, c, du, DC, r, DH, h, P, DP, d, j, LANES))
        if whole < d:
            m = d - whole
            du = get(DU, r + whole, m)
            u = lstm_back(G, g, B, r, C, c, du, DC, r, DH, h, P, DP, d, whole, m)
            put(U, r + whole, m, u)


@njit(error_model="numpy")
def cell_back(
    job: Job,
    rec: Record,
    p: int,
    B: int,
    DU: int,
    DC: int,
    DH: int,
    DX: int,
    DP: int,
    U: int,
    n: int,
) -> None:
    """From the gradient of u to those of the gates."""
    if job.cell <= RELU:
        elman_rows_back(rec.G, p, DU, DH, U, job.hidden, job.cell == RELU, n)
    elif job.cell == GRU:
        gru_rows_back(rec.G, rec.N, p, DU, DH, DX, U, job.hidden, n)
    else:
        P = job.peephole
        lstm_rows_back(rec.G, B, rec.memory, p, DU, DC, DH, P, DP, U, job.hidden, n)


@njit(error_model="numpy")
def choose_back(
    job: Job, rec: Record, given: Incoming, p: int, D: int, DS: int, DU: int, n: int, learn: bool
) -> float:
    """From the gradient of the weights to those of the scores, `DS`, and of u, `DU`."""
    k, d = job.states, job.hidden
    alpha = rec.soft if job.hard else rec.weights
    inverse = load_one(job.inverse, 0)
    to_inverse = weigh_back(
        D, alpha, rec.scores, job.noise, given.scores, p, n, k, inverse, DS, learn
    )
    times(job.sgemm, n, d, k, DS, 0, job.keys, DU, 0)
    if job.unit:
        normalise_back(DU, rec.Q, p, n, d, rec.norms)
    return to_inverse


@njit(error_model="numpy")
def weights_back(
    job: Job, out: Outgoing, DH: int, V: int, DS: int, U: int, first: int, rows: int, skip: int
) -> None:
    """Gradients of the recurrent weights and centroids from a stretch of time.

    Its first `skip` rows are the first step, which has its own recurrent half.
    """
    k, d, width = job.states, job.hidden, job.width
    carried = k or d
    if skip and out.H0:
        if job.one_start:
            add_up(out.H0, DH, 0, skip, width, width)
        else:
            copy(out.H0, first * width, DH, 0, skip * width)
    if out.M and rows > skip:
        gemm(
            job.sgemm, True, False, carried, job.columns, rows - skip, V, skip * carried, carried,
            DH, skip * width, width, ONE, out.M, 0, job.columns,
        )  # fmt: skip
    if out.h_bias:
        add_up(out.h_bias, DH, skip, rows - skip, width, job.columns)
    if out.keys:
        gemm(job.sgemm, True, False, k, d, rows, DS, 0, k, U, 0, d, ONE, out.keys, 0, d)
    if out.offsets:
        add_up(out.offsets, DS, 0, rows, k, k)


@njit(error_model="numpy")
def inputs_back(
    job: Job,
    out: Outgoing,
    DX: int,
    source: int,
    first: int,
    end: int,
    t: int,
    stop: int,
    rows: int,
) -> None:
    """Gradients of the input and its weights from steps `t` to `stop`; `source` has their x."""
    gates, size = job.gates, job.size
    if out.W:
        gemm(
            job.sgemm, True, False, gates, size, rows,
            DX, 0, gates, source, 0, size, ONE, out.W, 0, size,
        )  # fmt: skip
    if out.bias:
        add_up(out.bias, DX, 0, rows, gates, gates)
    whole = first == 0 and end == job.batch
    if out.x and whole:
        gemm(
            job.sgemm, False, False, rows, size, gates, DX, 0, gates,
            job.W, 0, size, ZERO, out.x, load_whole(job.starts, t) * size, size,
        )  # fmt: skip
    if not (out.X or (out.x and not whole)):
        return
    local = 0
    while t < stop:
        n = min(load_whole(job.sizes, t), end) - first
        p = load_whole(job.starts, t) + first
        if out.x:
            gemm(
                job.sgemm, False, False, n, size, gates, DX, local * gates, gates,
                job.W, 0, size, ZERO, out.x, p * size, size,
            )  # fmt: skip
        elif job.ids:
            for b in range(n):
                row = load_whole(job.ids, p + b)
                add(out.X, row * gates, DX, (local + b) * gates, gates)
        else:
            copy(out.X, p * gates, DX, local * gates, n * gates)
        local += n
        t += 1


@kernel
def backward(
    job: Job, rec: Record, given: Incoming, out: Outgoing, scratch: int, first: int, end: int
) -> None:
    """Gradients of sequences `first` to `end`."""
    d, k, width, columns, size = job.hidden, job.states, job.width, job.columns, job.size
    carried = k or d
    chunk = max(CHUNK, end - first)
    DH = scratch  # gradients of the recurrent half of the gates
    DX = DH + 4 * chunk * width if job.cell == GRU else DH  # and of the input's
    V = scratch + 4 * chunk * (width + job.gates)  # weights of the steps before
    DS = V + 4 * chunk * carried  # gradients of the scores
    U = DS + 4 * chunk * carried  # vectors u
    x_rows = U + 4 * chunk * d
    DU = x_rows + 4 * chunk * size
    DP = out.peephole or DU + 4 * (end - first) * d  # written either way, not always read
    D, DC = out.D + 4 * first * carried, out.DC + 4 * first * d
    copy_x = out.W != 0 and not (first == 0 and end == job.batch)
    to_inverse = 0.0
    above = 0  # sequences in the step above, whose rows come first in DH

    stop = job.time
    while stop > 0 and load_whole(job.sizes, stop - 1) <= first:
        stop -= 1
    while stop > 0:
        begin, rows = stop, 0
        while begin > 0:
            more = min(load_whole(job.sizes, begin - 1), end) - first
            if rows > 0 and rows + more > CHUNK:
                break
            rows += more
            begin -= 1

        local, above_at = rows, 0
        for t in range(stop - 1, begin - 1, -1):
            n = min(load_whole(job.sizes, t), end) - first
            p = load_whole(job.starts, t) + first
            before = load_whole(job.starts, t - 1) + first if t > 0 else 0
            local -= n
            if above > 0:
                times_transposed(
                    job.sgemm, above, carried, columns, DH, above_at * width, width, job.M, D, 0
                )
                if columns < width:
                    for b in range(above):
                        add(D, b * d, DH, (above_at + b) * width + columns, d)
            if given.weights:
                add(D, 0, given.weights, p * carried, n * carried)
            if given.memory:
                add(DC, 0, given.memory, p * d, n * d)
            du, u = D, U + 4 * local * d
            if k:
                ds, learn, du = DS + 4 * local * k, out.inverse != 0, DU
                to_inverse += choose_back(job, rec, given, p, D, ds, DU, n, learn)
            B = rec.memory + 4 * before * d if t > 0 else job.c0 + 4 * first * d
            dh, dx = DH + 4 * local * width, DX + 4 * local * job.gates
            cell_back(job, rec, p, B, du, DC, dh, dx, DP, u, n)
            if t > 0:
                copy(V, local * carried, rec.weights, before * carried, n * carried)
            if job.unit:
                copy(U, local * d, rec.Q, p * d, n * d)
            if copy_x:
                copy(x_rows, local * size, job.x, p * size, n * size)
            above, above_at = n, local

        skip = min(load_whole(job.sizes, 0), end) - first if begin == 0 else 0
        weights_back(job, out, DH, V, DS, U, first, rows, skip)
        source = x_rows if copy_x else job.x + 4 * load_whole(job.starts, begin) * size
        inputs_back(job, out, DX, source, first, end, begin, stop, rows)
        stop = begin
    if out.inverse:
        store_one(out.inverse, 0, np.float32(load_one(out.inverse, 0) + to_inverse))
