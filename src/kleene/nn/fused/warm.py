"""One tiny pass forward and backward, so that everything is compiled before it is needed."""

from __future__ import annotations

import torch

from kleene.nn.fused.autograd import MIXED, Fused
from kleene.nn.fused.fold import GIVEN, Settings
from kleene.nn.fused.kernels import cells
from kleene.nn.fused.layout import layout


def warm() -> None:
    """Compile, or load what was compiled before."""
    settings = Settings(
        cell=cells.ELMAN,
        hidden=1,
        states=1,
        hard=False,
        unit=False,
        offset=False,
        batch=1,
        layout=layout((1,)),
        from_zero=True,
        keep=True,
        full=True,
        mixed=True,
        plain=lambda *_: (),
    )
    with torch.inference_mode(False), torch.enable_grad():
        tensor = torch.ones(1, 1, requires_grad=True)
        learned = dict.fromkeys(("X", "R", "S", "temperature"), tensor)
        tensors = dict.fromkeys(GIVEN) | learned | {"hidden": torch.zeros(1, 1)}
        hidden = Fused.apply(settings, *tensors.values())[MIXED.start]  # type: ignore[no-untyped-call]
        torch.autograd.grad(hidden.sum(), tensor)
