"""The fused pass as one node of torch's graph."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from kleene.nn.fused.backward import gradients
from kleene.nn.fused.forward import OUTPUTS, Pass, run_forward
from kleene.nn.fused.plain import Plain
from kleene.nn.fused.plan import INPUTS, Plan

SAVED = ("weights", "scores", "memory", "last_weights")  # of the results, for the backward pass


class Fused(Function):
    """From the tensors of `INPUTS` to those of `OUTPUTS`."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, plain: Plain, *inputs: Tensor | None) -> Any:
        """Run the pass and save what its backward pass reads."""
        done = run_forward(plan, dict(zip(INPUTS, inputs, strict=True)))
        outputs = done.outputs.get
        ctx.plan, ctx.plain, ctx.blocks = plan, plain, done.blocks
        saved = [outputs(name) for name in SAVED]
        ctx.save_for_backward(*inputs, done.inner, done.folded, *saved)
        ctx.set_materialize_grads(False)
        return tuple([outputs(name) for name in OUTPUTS])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        """Run the backward pass; differentiate the plain loop where its graph is needed."""
        plan, needs, saved = ctx.plan, ctx.needs_input_grad[2:], ctx.saved_tensors
        inputs = saved[: len(INPUTS)]
        if torch.is_grad_enabled():
            return (None, None, *_differentiable(ctx, inputs, needs, grads))
        inner, folded, *results = saved[len(INPUTS) :]
        done = Pass(dict(zip(SAVED, results, strict=True)), inner, folded, ctx.blocks)
        tensors = dict(zip(INPUTS, inputs, strict=True))
        needed = tuple(compress(INPUTS, needs))
        found = gradients(plan, tensors, needed, done, dict(zip(OUTPUTS, grads, strict=True)))
        return (None, None, *[found.get(name) for name in INPUTS])


def _differentiable(
    ctx: Any,
    inputs: Sequence[Tensor | None],
    needs: Sequence[bool],
    grads: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """Gradients that can be differentiated again."""
    outputs = ctx.plain(ctx.plan, *inputs)
    pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if g is not None]
    leaves = [t for t, need in zip(inputs, needs, strict=True) if need and t is not None]
    found = torch.autograd.grad(
        [o for o, _ in pairs if o is not None],
        leaves,
        [g for _, g in pairs],
        create_graph=True,
        allow_unused=True,
    )
    left = iter(found)
    return [next(left) if need else None for need in needs]
