"""Hidden vectors of all steps, h = w S, on the same threads as the scan."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from kleene.nn.fused.blas import sgemm_address
from kleene.nn.fused.blocks import run, shares
from kleene.nn.fused.tall import mix, mix_back


def product(weights: Tensor, centroids: Tensor) -> Tensor:
    """All rows, without a graph."""
    w, S = weights.contiguous(), centroids.contiguous()
    h = torch.empty(len(w), S.shape[1])
    places = (sgemm_address(), *S.shape, w.data_ptr(), S.data_ptr(), h.data_ptr())
    run(lambda first, end: mix(*places, first, end), shares(len(w), S.numel()))
    return h


class Mix(Function):
    """h = w S."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, centroids: Tensor) -> Tensor:
        """All rows."""
        ctx.save_for_backward(weights, centroids)
        return product(weights, centroids)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """By torch's own product where a graph is wanted."""
        weights, centroids = ctx.saved_tensors
        if torch.is_grad_enabled():
            return grad @ centroids.T, weights.T @ grad
        w, S, dh = (t.contiguous() for t in (weights, centroids, grad))
        dw = torch.empty_like(w) if ctx.needs_input_grad[0] else None
        blocks = shares(len(w), S.numel())
        sums = [torch.zeros_like(S) for _ in blocks]
        places = (sgemm_address(), *S.shape, w.data_ptr(), S.data_ptr(), dh.data_ptr())

        def work(first: int, end: int) -> None:
            mine = sums[[block[0] for block in blocks].index(first)]
            mix_back(*places, 0 if dw is None else dw.data_ptr(), mine.data_ptr(), first, end)

        run(work, blocks)
        for other in sums[1:]:
            sums[0] += other
        return dw, sums[0]
