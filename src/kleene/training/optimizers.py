"""Torch's optimizers without its compiler."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch.optim import Optimizer


def light(kind: Any) -> Any:
    """A kind of optimizer that does not import torch's compiler, which takes a second.

    Torch excludes these methods from compilation; the first call of each imports the compiler.
    """
    names = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")
    methods = {name: inspect.unwrap(getattr(Optimizer, name)) for name in names}
    step = torch.no_grad()(inspect.unwrap(kind.step))
    return type(kind.__name__, (kind,), {**methods, "step": step})


Adam = light(torch.optim.Adam)
RMSprop = light(torch.optim.RMSprop)
Adadelta = light(torch.optim.Adadelta)
