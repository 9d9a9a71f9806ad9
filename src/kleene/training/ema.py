"""The running average of the weights, which is less noisy than the weights of the last step.

It is kept in the optimiser's own memory, so that a checkpoint holds it too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

AVERAGE = "average"


def keep_average(optimizer: torch.optim.Optimizer, share: float) -> None:
    """From now on let every step leave so much of the average as it was, and less at first."""

    def after(optimizer: torch.optim.Optimizer, _args: Any, _options: Any) -> None:
        for state, weight in _states(optimizer):
            if AVERAGE not in state:
                state[AVERAGE] = weight.detach().clone()
            steps = float(state["step"])
            state[AVERAGE].lerp_(weight.detach(), 1 - min(share, (1 + steps) / (10 + steps)))

    optimizer.register_step_post_hook(after)


@contextmanager
def averaged(optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Within it the weights are their averages, where these are kept."""
    _exchange(optimizer)
    try:
        yield
    finally:
        _exchange(optimizer)


def adopt_average(optimizer: torch.optim.Optimizer) -> None:
    """Let the weights be their averages, where these are kept."""
    with torch.no_grad():
        for state, weight in _states(optimizer):
            weight.copy_(state.get(AVERAGE, weight))


@torch.no_grad()
def _exchange(optimizer: torch.optim.Optimizer) -> None:
    for state, weight in _states(optimizer):
        if AVERAGE in state:
            last = weight.clone()
            weight.copy_(state[AVERAGE])
            state[AVERAGE].copy_(last)


def _states(optimizer: torch.optim.Optimizer) -> Iterator[tuple[dict[str, Any], Tensor]]:
    """The memory of every weight that has been stepped."""
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if state := optimizer.state.get(weight):
                yield state, weight
