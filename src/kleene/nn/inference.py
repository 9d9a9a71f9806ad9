"""Run a network for its results: eval mode without gradients, for one block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def inference(network: nn.Module, *, grad: bool = False) -> Iterator[None]:
    """Eval mode without gradients, for one block; training modes are restored, also after an error.

    `grad` leaves gradients as they are, for attributions. Autocast is off: results are in the type
    of the weights. What else a pass does is its `Mode`.

    >>> import torch
    >>> from kleene.nn import SRGRU, inference
    >>> network = SRGRU(3, 8, num_states=4)
    >>> with inference(network):
    ...     output, last = network(torch.zeros(5, 1, 3))
    >>> network.training, output.requires_grad
    (True, False)
    """
    modes = [(module, module.training) for module in network.modules()]
    try:
        network.eval()
        device = next((weight.device.type for weight in network.parameters()), "cpu")
        with (
            torch.autocast(device, enabled=False),
            torch.set_grad_enabled(grad and torch.is_grad_enabled()),
        ):
            yield
    finally:
        for module, training in modes:
            module.training = training
