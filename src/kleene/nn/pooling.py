"""Statistics over the steps of each word, in the packed layout, and the weights of states where a
network classifies them: `pooling="states"`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from kleene.errors import ExtractionError

if TYPE_CHECKING:
    from kleene.nn.classifier import Classifier

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


def adds_up(network: Classifier) -> bool:
    """Whether the shares of the steps add up to the logits."""
    return network.config.pooling == "states"


def state_weights(network: Classifier) -> tuple[Tensor, Tensor]:
    """What the mean and the maximum of each state give to the logits, (state, class) each.

    10 (W - m W): against a typical step; and 3 V.
    """
    if not adds_up(network):
        raise ExtractionError(
            "only networks with pooling='states' have weights of states; train one, "
            "or use the method evidence"
        )
    mean, largest = network.head.weight.detach().T.chunk(2)
    return MEAN_SCALE * (mean - network.typical[0] @ mean), MAX_SCALE * largest


def lead(scores: Tensor, classes: Tensor) -> Tensor:
    """The score of one class a word minus the mean of the others, (batch, ..., class) -> (...).

    It is linear, so that shares of the scores become shares of the lead; with two classes it is
    the log-odds.
    """
    count = scores.shape[-1]
    if count == 1:
        return torch.zeros_like(scores[..., 0])
    index = classes.view(-1, *(1,) * (scores.dim() - 1)).expand(*scores.shape[:-1], 1)
    own = scores.gather(-1, index).squeeze(-1)
    return own - (scores.sum(-1) - own) / (count - 1)


def full_weights(network: Classifier) -> Tensor:
    """What a word gains by being in a state throughout, (state, class).

    10 (W - m W) + 3 (1 - M) V
    """
    on_mean, on_max = state_weights(network)
    return on_mean + (1 - network.typical[1])[:, None] * on_max
