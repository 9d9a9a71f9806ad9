"""Statistics over the steps of each word, in the packed layout."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import torch
from torch import Tensor

MEAN_SCALE, MAX_SCALE = 10.0, 3.0
"""Scales of the two statistics of the states, so that their weights learn equally fast."""


def pool(values: Tensor, batch_sizes: Sequence[int], *, mean: bool) -> Tensor:
    """Mean or maximum over the steps of each word, (steps, size) -> (batch, size).

    Consecutive steps with the same words are pooled as one block, the last block first.
    """
    blocks = [(n, len(list(steps))) for n, steps in groupby(batch_sizes)]
    parts = torch.split(values, [n * steps for n, steps in blocks])
    pooled = values.new_empty(0, values.shape[1])
    for (n, steps), part in zip(reversed(blocks), reversed(parts), strict=True):
        block = part.view(steps, n, -1)
        here, longer = block.sum(0) if mean else block.max(0).values, len(pooled)
        both = here[:longer] + pooled if mean else torch.maximum(here[:longer], pooled)
        pooled = torch.cat([both, here[longer:]])
    if not mean:
        return pooled
    lengths = torch.tensor(batch_sizes)[:, None] > torch.arange(len(pooled))
    return pooled / lengths.sum(0, keepdim=True).T.to(pooled)
