"""Hidden vectors of all steps as mixtures of centroids, h = w S, on the same threads as the scan.

One tall, narrow product, on which BLAS is slow when the states are few; rows are taken in chunks
that stay in the cache, each thread its share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor
from torch.autograd import Function

from kleene.nn.fused.blas import gemm, sgemm_address
from kleene.nn.fused.blocks import run, shares
from kleene.nn.fused.compile import kernel
from kleene.nn.fused.lanes import full, get, load_one, put
from kleene.nn.fused.small import FEW_WEIGHTS, times, times_transposed

CHUNK, ONE = 512, np.float32(1.0)


@kernel
def mix(sgemm: int, k: int, d: int, w: int, S: int, h: int, first: int, end: int) -> None:
    """h = w S of the rows from `first` to `end`."""
    for row in range(first, end, CHUNK):
        times(sgemm, min(CHUNK, end - row), d, k, w, row * k, S, h, row * d)


@njit(error_model="numpy")
def _add_outer(n: int, k: int, d: int, w: int, row: int, dh: int, dS: int) -> None:
    """dS += w^T dh, for few states and hidden units."""
    for j in range(0, d, 8):
        for i in range(k):
            s = get(dS, i * d + j, d - j)
            for r in range(row, row + n):
                s = s + full(load_one(w, r * k + i)) * get(dh, r * d + j, d - j)
            put(dS, i * d + j, d - j, s)


@kernel
def mix_back(
    sgemm: int, k: int, d: int, w: int, S: int, dh: int, dw: int, dS: int, first: int, end: int
) -> None:
    """dw = dh S^T, and dS += w^T dh."""
    for row in range(first, end, CHUNK):
        n = min(CHUNK, end - row)
        if dw:
            times_transposed(sgemm, n, k, d, dh, row * d, d, S, dw, row * k)
        if not dS:
            continue
        if k * d <= FEW_WEIGHTS // 4:
            _add_outer(n, k, d, w, row, dh, dS)
        else:
            gemm(sgemm, True, False, k, d, n, w, row * k, k, dh, row * d, d, ONE, dS, 0, d)


class Mix(Function):
    """h = w S."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, centroids: Tensor) -> Tensor:
        """All rows."""
        w, S = weights.detach().contiguous(), centroids.detach().contiguous()
        ctx.save_for_backward(weights, centroids)
        h = torch.empty(len(w), S.shape[1])
        places = (sgemm_address(), *S.shape, w.data_ptr(), S.data_ptr(), h.data_ptr())
        run(lambda first, end: mix(*places, first, end), shares(len(w), S.numel()))
        return h

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """By torch's own product where a graph is wanted."""
        weights, centroids = ctx.saved_tensors
        if torch.is_grad_enabled():
            return grad @ centroids.T, weights.T @ grad
        w, S, dh = (t.detach().contiguous() for t in (weights, centroids, grad))
        dw = torch.empty_like(w) if ctx.needs_input_grad[0] else None
        blocks = shares(len(w), S.numel())
        sums = [torch.zeros_like(S) if ctx.needs_input_grad[1] else None for _ in blocks]
        places = (sgemm_address(), *S.shape, w.data_ptr(), S.data_ptr(), dh.data_ptr())

        def work(first: int, end: int) -> None:
            mine = sums[[block[0] for block in blocks].index(first)]
            out = [0 if t is None else t.data_ptr() for t in (dw, mine)]
            mix_back(*places, *out, first, end)

        run(work, blocks)
        total = sums[0]
        for other in sums[1:]:
            total = total if total is None else total + other
        return dw, total
