"""Exponential moving average (EMA) of the weights: less noisy than the weights of the last step.

It lives in the optimiser's state, so that a checkpoint includes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

KEY = "average"  # in the optimiser's state and in the checkpoints of version 0.1


def track_ema(optimizer: torch.optim.Optimizer, decay: float) -> None:
    """Update the average after every step: ema <- d ema + (1 - d) weight.

    d is `decay`, and less at first: at most (1 + steps) / (10 + steps).
    """

    def after(optimizer: torch.optim.Optimizer, _args: Any, _options: Any) -> None:
        for state, weight in _states(optimizer):
            if KEY not in state:
                state[KEY] = weight.detach().clone()
            steps = float(state["step"])
            state[KEY].lerp_(weight.detach(), 1 - min(decay, (1 + steps) / (10 + steps)))

    optimizer.register_step_post_hook(after)


@contextmanager
def ema_weights(optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Swap in the averages, where they are tracked, for the duration of the context."""
    _swap(optimizer)
    try:
        yield
    finally:
        _swap(optimizer)


def load_ema(optimizer: torch.optim.Optimizer) -> None:
    """Set the weights to their averages, where they are tracked."""
    with torch.no_grad():
        for state, weight in _states(optimizer):
            weight.copy_(state.get(KEY, weight))


@torch.no_grad()
def _swap(optimizer: torch.optim.Optimizer) -> None:
    for state, weight in _states(optimizer):
        if KEY in state:
            last = weight.clone()
            weight.copy_(state[KEY])
            state[KEY].copy_(last)


def _states(optimizer: torch.optim.Optimizer) -> Iterator[tuple[dict[str, Any], Tensor]]:
    """The optimiser's state of every weight that has been stepped."""
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if state := optimizer.state.get(weight):
                yield state, weight
