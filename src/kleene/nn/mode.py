"""How passes run: a `Mode` is handed down to each; `inference` is a block of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from kleene.errors import SettingError
from kleene.nn.transition import Transition, soft_argmax


@dataclass(frozen=True, kw_only=True)
class Mode:
    """How one pass runs; None leaves a setting to the network.

    >>> import torch
    >>> from kleene.nn import SRGRU, Mode, soft_argmax
    >>> network = SRGRU(3, 8, num_states=4)
    >>> output, last = network(torch.zeros(5, 1, 3), mode=Mode(transition=soft_argmax))
    """

    regularized: bool = True
    """Whether the stochastic component is on."""
    transition: Transition | None = None
    noise: bool | None = None
    """Whether the transition draws noise; None while the network is in training mode."""
    dropout: bool | None = None
    """Whether dropout is on; None while the network is in training mode."""
    blend: float | None = None
    """The share lambda in h_t = (1 - lambda) u_t + lambda alpha_t S, from the plain cell at 0 to
    the state-regularised one at 1. With a number, scans have a `commitment`."""

    hidden_noise: float = 0.0
    """Standard deviation of Gaussian noise on every hidden vector that is carried on."""

    def __post_init__(self) -> None:
        if self.blend is not None and not 0 <= self.blend <= 1:
            raise SettingError(f"blend must be in [0, 1], got {self.blend}")


OWN = Mode()
"""The network's own settings."""
HARD = Mode(transition=soft_argmax)
"""Every hidden vector is the nearest centroid."""
PLAIN = Mode(regularized=False)
"""Without the stochastic component."""


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
