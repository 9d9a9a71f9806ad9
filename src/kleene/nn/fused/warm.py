"""One tiny pass, forward and backward, which compiles every kernel."""

from __future__ import annotations

from dataclasses import replace

import torch

from kleene.nn.fused.autograd import Fused
from kleene.nn.fused.forward import OUTPUTS, run_forward
from kleene.nn.fused.kernels.records import ELMAN
from kleene.nn.fused.kernels.rows import is_zero
from kleene.nn.fused.kernels.team import openmp
from kleene.nn.fused.layout import layout
from kleene.nn.fused.plan import INPUTS, Plan


def warm() -> None:
    """Compile the kernels, or load them from Numba's cache."""
    plan = Plan(
        cell=ELMAN,
        hidden=1,
        states=1,
        hard=False,
        normalised=False,
        offset=False,
        batch=1,
        layout=layout((1,)),
        size=0,
        has_bias=False,
        from_zero=True,
        needs_grad=True,
        all_steps=True,
        with_hidden=True,
    )
    with torch.inference_mode(False), torch.enable_grad():
        tensor = torch.ones(1, 1, requires_grad=True)
        learned = dict.fromkeys(("X", "R", "S", "temperature"), tensor)
        tensors = dict.fromkeys(INPUTS) | learned | {"hidden": torch.zeros(1, 1)}
        results = Fused.apply(plan, None, *tensors.values())  # type: ignore[no-untyped-call]
        hidden = results[OUTPUTS.index("hidden")]
        torch.autograd.grad(hidden.sum(), tensor)
        openmp()
        is_zero(tensor.data_ptr(), 1)
        run_forward(replace(plan, needs_grad=False), tensors)
