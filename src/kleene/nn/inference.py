"""Run a network for its results: eval mode, no gradients, and everything restored afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from kleene.nn.fused.switch import for_inference
from kleene.nn.state_regularized import StateRegularized
from kleene.nn.transition import soft_argmax


@contextmanager
def inference(
    network: nn.Module,
    *,
    hard: bool = False,
    regularized: bool | None = None,
    grad: bool = False,
) -> Iterator[None]:
    """Eval mode without gradients, for one block; the network is restored also after an error.

    With `hard`, every hidden vector is the nearest centroid. `regularized` switches the centroids
    on or off. `grad` leaves gradients as they are, for attributions.

    >>> import torch
    >>> from kleene.nn import SRGRU, inference
    >>> network = SRGRU(3, 8, num_states=4)
    >>> with inference(network, hard=True):
    ...     output, last = network(torch.zeros(5, 1, 3))
    >>> network.training, output.requires_grad
    (True, False)
    """
    modes = [(module, module.training) for module in network.modules()]
    layers = [module for module, _ in modes if isinstance(module, StateRegularized)]
    before = [(rnn, rnn.transition, rnn.regularized) for rnn in layers]
    try:
        network.eval()
        for rnn in layers:
            rnn.transition = soft_argmax if hard else rnn.transition
            rnn.regularized = rnn.regularized if regularized is None else regularized
        with for_inference(), torch.set_grad_enabled(grad and torch.is_grad_enabled()):
            yield
    finally:
        for module, training in modes:
            module.training = training
        for rnn, transition, was_regularized in before:
            rnn.transition, rnn.regularized = transition, was_regularized
