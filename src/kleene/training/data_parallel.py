"""One gradient from the shares of a batch that several processes looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from kleene.data.batch import Batch
from kleene.distributed import ProcessGroup, connected
from kleene.nn.classifier import Classifier
from kleene.nn.mode import Mode


class _Observed(nn.Module):
    """`observe` as the forward pass, which is what `DistributedDataParallel` wraps."""

    def __init__(self, network: Classifier) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Batch, mode: Mode) -> Any:
        return self.network.observe(batch, mode)


def data_parallel(
    network: Classifier, processes: ProcessGroup, *, all_used: bool
) -> Callable[[Batch, Mode], Any]:
    """The network's `observe`; its gradients are then the means over all processes.

    All begin with the main process's weights. `all_used` says that the loss depends on every one.
    """
    if processes.world_size == 1:
        return network.observe
    with connected():
        return DistributedDataParallel(
            _Observed(network), forward_sync_buffers=False, find_unused_parameters=not all_used
        )


def share_of_batch(
    processes: ProcessGroup, loss: Tensor, weight: float, right: int, words: int
) -> tuple[float, float, int, int]:
    """The factor of this process's loss; then loss, right answers and words of the whole batch.

    A batch's loss is the mean of the processes' by the weights of their words, where
    `DistributedDataParallel` takes the plain mean of what it is given.
    """
    if processes.world_size == 1:
        return 1.0, loss.item(), right, words
    mine = np.array([weight * loss.item(), weight, right, words])
    lost, total, right, words = processes.all_reduce_array(mine).tolist()
    return processes.world_size * weight / total, lost / total, round(right), round(words)
