"""Run the forward pass: fold the weights, then one compiled call per thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from torch import Tensor

from kleene.nn.fused.blocks import run, split
from kleene.nn.fused.buffers import empty, empty_cached, workspace
from kleene.nn.fused.folded import MAX_FLOATS, Key, find, keep
from kleene.nn.fused.kernels import fold as fold_kernel
from kleene.nn.fused.kernels import forward as kernel
from kleene.nn.fused.kernels.arguments import join
from kleene.nn.fused.kernels.blas import one_thread, sgemm_address
from kleene.nn.fused.kernels.fingerprint import fingerprint
from kleene.nn.fused.kernels.records import GRU, LSTM, Block, ForwardBuffers, Job, Weights
from kleene.nn.fused.plan import Plan, Tensors

OUTPUTS = (
    "weights", "scores", "memory", "last_weights", "last_memory", "hidden", "last_hidden",
)  # fmt: skip
"""The results of a pass, in this order; None where they are not asked for."""
GIVEN = ("X", "ids", "x", "W", "S", "noise", "temperature", "peephole", "c0")  # as they are
Blocks: TypeAlias = Sequence[tuple[int, int]]


class Pass(NamedTuple):
    """What a forward pass leaves behind."""

    outputs: Tensors
    inner: Tensor  # `Plan.inner`
    folded: Tensor  # `Plan.folded`
    blocks: Blocks


def contiguous_inputs(inputs: Tensors) -> Tensors:
    """The same tensors, copied where compiled code could not read them."""
    return {name: None if t is None else t.contiguous() for name, t in inputs.items()}


def address(tensor: Tensor | None) -> int:
    """Where its floats are, 0 for an absent one."""
    return 0 if tensor is None else tensor.data_ptr()


def make_job(plan: Plan, tensors: Tensors, folded: Tensor) -> Job:
    """The arguments of a pass over contiguous tensors, which must outlive it."""
    fields = plan.constants | {
        name: 0 if (t := tensors[name]) is None else t.data_ptr() for name in GIVEN
    }
    fields["sgemm"], fields["keys"] = sgemm_address(), fields["S"]
    fields["bias"] = address(tensors["bias"]) if plan.cell == GRU else 0
    return Job(**(fields | plan.folded.addresses(folded)))


def raw_weights(plan: Plan, tensors: Tensors) -> Weights:
    """The weights that are folded."""
    return Weights(
        R=address(tensors["R"]),
        hidden=address(tensors["hidden"]),
        h_bias=address(tensors["h_bias"]),
        x_bias=0 if plan.cell == GRU else address(tensors["bias"]),
    )


def _key(plan: Plan, raw: Weights, S: int) -> Key | None:
    """What folded weights are kept under; None for a pass whose are not kept."""
    if plan.needs_grad or not plan.from_zero or plan.folded.floats > MAX_FLOATS:
        return None
    d, k, gates = plan.hidden, plan.states, plan.gates
    mark = fingerprint(raw.R, gates * d, S, k * d, raw.h_bias, raw.x_bias, gates)
    return (mark, plan.cell, d, k, plan.normalised, plan.offset)


def fold(plan: Plan, tensors: Tensors) -> tuple[Tensor, Job]:
    """The folded weights, and the arguments of the pass."""
    raw = raw_weights(plan, tensors)
    key = _key(plan, raw, address(tensors["S"]))
    folded = find(key)
    if folded is not None:
        return folded, make_job(plan, tensors, folded)
    folded = plan.folded.empty()
    job = make_job(plan, tensors, folded)
    with one_thread():
        fold_kernel.fold(job, raw)
    keep(key, folded)
    return folded, job


def make_outputs(plan: Plan) -> Tensors:
    """Memory for the results of a pass."""
    k, d, steps, widest = plan.states, plan.hidden, plan.layout.steps, plan.layout.widest
    outputs: Tensors = {"weights": empty(steps, k or d)}
    if plan.all_steps and k:
        outputs["scores"] = empty_cached(steps, k)
    if plan.cell >= LSTM:
        outputs["last_memory"] = empty(plan.batch, d)
        if plan.all_steps:
            outputs["memory"] = empty_cached(steps, d)
    outputs["last_hidden" if k else "last_weights"] = empty(widest, d)
    if plan.with_hidden:
        outputs["hidden"] = empty(steps, d)
    return outputs


def forward_buffers(plan: Plan, outputs: Tensors, inner: Tensor) -> ForwardBuffers:
    """The addresses of everything that a pass writes."""
    found = plan.inner.addresses(inner)
    for name, tensor in outputs.items():
        if tensor is not None:
            found[name] = tensor.data_ptr()
    return ForwardBuffers(**found)


def run_forward(plan: Plan, tensors: Tensors) -> Pass:
    """Run the pass over contiguous tensors, one block of sequences per thread."""
    outputs, inner = make_outputs(plan), plan.inner.empty()
    c0, last_memory, done = tensors["c0"], outputs.get("last_memory"), plan.layout.widest
    if last_memory is not None and c0 is not None and done < plan.batch:
        last_memory[done:] = c0[done:]
    folded, job = fold(plan, tensors)
    buffers = forward_buffers(plan, outputs, inner)
    blocks = split(plan.layout, plan.batch, plan.width * (plan.states + 1))
    rooms = [
        workspace(kernel.workspace_size(job, end - first), number)
        for number, (first, end) in enumerate(blocks)
    ]
    run(
        kernel.forward,
        [
            join(Block(room.data_ptr(), first, end), job, buffers)
            for room, (first, end) in zip(rooms, blocks, strict=True)
        ],
    )
    return Pass(outputs, inner, folded, blocks)
