"""The loss of a batch, by the weights of classes and rows."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from kleene.data.batch import Batch


def weighted_loss(
    scores: Tensor, labels: Tensor, class_weights: Tensor | None, batch: Batch
) -> tuple[Tensor, float | Tensor]:
    """Mean cross-entropy, by the weights of classes and rows, and the sum of these weights."""
    if batch.weights is None:
        count = len(batch) if class_weights is None else class_weights[labels].sum()
        return cross_entropy(scores, labels, class_weights), count
    rows = torch.from_numpy(batch.weights).to(scores)
    total = (rows if class_weights is None else rows * class_weights[labels]).sum()
    losses = cross_entropy(scores, labels, class_weights, reduction="none")
    return (losses * rows).sum() / total.clamp_min(torch.finfo(rows.dtype).tiny), total
