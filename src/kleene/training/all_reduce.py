"""One gradient from the shares of a batch that several processes looked at.

The loss is a mean over words, so the gradient of a batch is the mean of the processes' gradients,
each weighted by what its words count for:

    g = sum_r W_r g_r / sum_r W_r      W_r = sum of the class weights of r's words, or their number

All of it travels as one flat vector, once a step. `DistributedDataParallel` weighs every process
alike, which is wrong for shares of unequal size, wants every weight in every loss, which the
centroids are not while the component is off, and hides messages behind the backward pass of large
networks, which these are not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from kleene.distributed import ProcessGroup


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a step tells of its batch."""

    loss: Tensor
    """The mean over the words."""
    right: int
    words: int


def pool(
    process_group: ProcessGroup, weights: Iterable[Tensor], figures: Figures, count: float | Tensor
) -> Figures:
    """Make the gradients and figures of a share those of the whole batch; `count` is W_r."""
    if process_group.world_size == 1:
        return figures
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    flat = torch.cat([*(g.reshape(-1) for g in gradients), figures.loss.detach().reshape(1)])
    counts = flat.new_tensor([float(count), figures.right, figures.words])
    mine = torch.cat([flat * counts[0], counts]).to(process_group.device)
    flat = process_group.all_reduce(mine).to(flat.device)
    total, right, words = flat[-3:].tolist()
    flat /= total
    start = 0
    for gradient in gradients:
        gradient.copy_(flat[start : start + gradient.numel()].view_as(gradient))
        start += gradient.numel()
    return Figures(loss=flat[start], right=round(right), words=round(words))
