"""Run the backward pass: one compiled call per thread, then the gradients of the weights."""

from __future__ import annotations

import torch
from torch import Tensor

from kleene.nn.fused.blocks import run
from kleene.nn.fused.buffers import Sections, contiguous, workspace
from kleene.nn.fused.forward import Pass, address, forward_buffers, make_job, raw_weights
from kleene.nn.fused.kernels import backward as kernel
from kleene.nn.fused.kernels import fold as fold_kernel
from kleene.nn.fused.kernels.arguments import join
from kleene.nn.fused.kernels.blas import one_thread
from kleene.nn.fused.kernels.records import GRU, Block, InputGrads, OutputGrads, WeightGrads
from kleene.nn.fused.plan import Plan, Tensors

WRITTEN = ("R", "hidden", "h_bias", "c0", "x")  # gradients that are written, not added to


def gradients(
    plan: Plan, tensors: Tensors, needs: set[str], done: Pass, grads: Tensors
) -> dict[str, Tensor]:
    """Gradients of the inputs in `needs` from those of the results."""
    grads = {name: None if grad is None else contiguous(grad) for name, grad in grads.items()}
    ids = tensors["ids"] is not None
    found = {name: _zeros(name, tensors[name], ids) for name in needs}
    job = make_job(plan, tensors, done.folded)
    forward = forward_buffers(plan, done.outputs, done.inner)
    outputs = OutputGrads(*[address(grads[name]) for name in OutputGrads._fields])
    sections = _folded(plan, needs)
    blocks = [_Sums(plan, found, sections)]
    for _ in done.blocks[1:]:  # rows of their own, which all threads may write to, are shared
        own = {n: g if _has_rows(n, ids) else torch.zeros_like(g) for n, g in found.items()}
        blocks.append(_Sums(plan, own, sections))
    rooms = [
        workspace(kernel.workspace_size(job, end - first), number)
        for number, (first, end) in enumerate(done.blocks)
    ]
    run(
        kernel.backward,
        [
            join(Block(room.data_ptr(), first, end), job, forward, outputs, own.addresses)
            for room, (first, end), own in zip(rooms, done.blocks, blocks, strict=True)
        ],
    )
    for other in blocks[1:]:
        blocks[0].add(other)
    weights = WeightGrads(
        R=address(found.get("R")),
        hidden=address(found.get("hidden")),
        h_bias=address(found.get("h_bias")),
        x_bias=0 if plan.cell == GRU else address(found.get("bias")),
        S=address(found.get("S")),
    )
    with one_thread():
        fold_kernel.unfold(job, raw_weights(plan, tensors), blocks[0].addresses, weights)
    return found


class _Sums:
    """Gradients of what the loops read, summed over the sequences of a block."""

    def __init__(self, plan: Plan, grads: dict[str, Tensor], sections: Sections) -> None:
        self.grads = grads
        self.folded = sections.empty().zero_()
        at = {name: grad.data_ptr() for name, grad in grads.items()}
        inner = sections.addresses(self.folded)
        S = at.get("S", 0)
        self.addresses = InputGrads(
            X=at.get("X", 0),
            x=at.get("x", 0),
            W=at.get("W", 0),
            bias=at.get("bias", 0) if plan.cell == GRU else 0,
            H0=inner.get("H0", 0),
            M=inner.get("M", 0),
            h_bias=inner.get("h_bias", 0),
            S=S,
            keys=inner.get("keys", S),
            offsets=inner.get("offsets", 0),
            temperature=at.get("temperature", 0),
            peephole=at.get("peephole", 0),
            c0=at.get("c0", 0),
        )

    def add(self, other: _Sums) -> None:
        """Add those of another block."""
        self.folded += other.folded
        for name, grad in other.grads.items():
            if grad is not self.grads[name]:
                self.grads[name] += grad


def _folded(plan: Plan, needs: set[str]) -> Sections:
    """The gradients of folded weights which those in `needs` depend on."""
    k, d = plan.states, plan.hidden
    biases = "h_bias" in needs or ("bias" in needs and plan.cell != GRU)
    starts = biases or (not plan.from_zero and ("R" in needs or "hidden" in needs))
    has_M = "R" in needs or (k > 0 and (biases or "S" in needs))
    return Sections(
        {
            "H0": plan.width * plan.starts if starts else 0,
            "M": (k * plan.width if k else d * plan.gates) if has_M else 0,
            "h_bias": plan.gates if biases and not k else 0,
            "keys": k * d if plan.normalised and "S" in needs else 0,
            "offsets": k if plan.offset and "S" in needs else 0,
        }
    )


def _has_rows(name: str, ids: bool) -> bool:
    """Whether a gradient has a row per step or sequence."""
    return name in ("x", "c0") or (name == "X" and not ids)


def _zeros(name: str, tensor: Tensor | None, ids: bool) -> Tensor:
    assert tensor is not None
    if name in WRITTEN or _has_rows(name, ids):
        return torch.empty_like(tensor)
    return torch.zeros_like(tensor)
