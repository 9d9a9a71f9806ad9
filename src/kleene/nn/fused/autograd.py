"""The fused pass as one node of torch's graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd import Function

from kleene.nn.fused.blocks import run, split
from kleene.nn.fused.buffers import contiguous, empty, empty_cached
from kleene.nn.fused.fold import fold, required_grads, unfold
from kleene.nn.fused.kernels import backward as backward_kernel
from kleene.nn.fused.kernels import forward as forward_kernel
from kleene.nn.fused.kernels.blas import sgemm_address
from kleene.nn.fused.kernels.records import (
    GRU,
    LSTM,
    ForwardBuffers,
    InputGrads,
    Job,
    OutputGrads,
)
from kleene.nn.fused.plan import INPUTS, Plan, Tensors

TENSORS = Job._fields[Job._fields.index("X") :]  # of a job, after its shapes
FOLDED = ("bias", "H0", "M", "h_bias", "keys", "offsets", "peephole")  # made or changed by `fold`
OUTPUTS = (
    "weights", "scores", "memory", "last_weights", "last_memory", "hidden", "last_hidden",
)  # fmt: skip
"""The results of the node, in this order."""
UNREAD = ("hidden", "last_hidden")  # by the backward pass; callers may write to them
SAVED = tuple(name for name in ForwardBuffers._fields if name not in UNREAD)
SUMS = ("X", "W", "bias", "H0", "M", "h_bias", "S", "keys", "offsets", "temperature", "peephole")
Blocks: TypeAlias = Sequence[tuple[int, int]]


def addresses(tensors: Mapping[str, Tensor | None], names: Sequence[str]) -> dict[str, int]:
    """Addresses of the named tensors, 0 for absent ones."""
    find = tensors.get
    return {name: 0 if (t := find(name)) is None else t.data_ptr() for name in names}


def make_job(plan: Plan, tensors: Tensors) -> Job:
    """The arguments of a pass over the results of `fold`, which must outlive it."""
    x, H0 = tensors["x"], tensors["H0"]
    assert H0 is not None
    sizes, starts = plan.layout.addresses
    width, gates = plan.width, plan.gates
    return Job(
        sgemm=sgemm_address(),
        cell=plan.cell,
        hard=int(plan.hard),
        normalised=int(plan.normalised),
        time=plan.layout.time,
        batch=plan.batch,
        hidden=plan.hidden,
        states=plan.states,
        gates=gates,
        width=width,
        columns=width if plan.states else gates,
        size=1 if x is None else x.shape[1],
        shared_start=int(H0.shape[0] == 1),
        two_steps=int(not plan.all_steps),
        sizes=sizes,
        starts=starts,
        **addresses(tensors, TENSORS),
    )


def make_buffers(plan: Plan, keep: bool) -> Tensors:
    """Memory for what a pass writes; with `keep`, also for what its backward pass reads."""
    k, d, steps = plan.states, plan.hidden, plan.layout.steps
    rows = steps if plan.all_steps else 2 * plan.batch
    buffers: Tensors = {
        "weights": empty(steps, k or d),
        "last_weights": empty(plan.layout.widest, k or d),
    }
    if k:
        buffers["scores"] = empty_cached(rows, k)
    if plan.cell >= LSTM:
        buffers |= {"memory": empty_cached(rows, d), "last_memory": empty(plan.batch, d)}
    if plan.with_hidden:
        buffers |= {"hidden": empty(steps, d), "last_hidden": empty(plan.layout.widest, d)}
    if keep:
        buffers["G"] = empty_cached(steps, plan.width)
        if plan.cell == GRU:
            buffers["N"] = empty_cached(steps, d)
        if plan.normalised:
            buffers |= {"Q": empty_cached(steps, d), "norms": empty_cached(steps)}
        if plan.hard:
            buffers["soft"] = empty_cached(steps, k)
    return buffers


def run_forward(plan: Plan, tensors: Tensors, keep: bool) -> tuple[Tensors, Blocks]:
    """Run the pass, one block of sequences per thread; its buffers, and the blocks."""
    buffers = make_buffers(plan, keep)
    c0, last_memory, done = tensors["c0"], buffers.get("last_memory"), plan.layout.widest
    if last_memory is not None and c0 is not None and done < plan.batch:
        last_memory[done:] = c0[done:]
    job = make_job(plan, tensors)
    forward = ForwardBuffers(**addresses(buffers, ForwardBuffers._fields))
    blocks = split(plan.layout, plan.batch, plan.width * (plan.states + 1))

    def work(first: int, end: int) -> None:
        workspace = empty(forward_kernel.workspace_size(job, end - first))
        forward_kernel.forward(job, forward, workspace.data_ptr(), first, end, 0)

    run(work, blocks)
    return buffers, blocks


class Fused(Function):
    """From the tensors of `INPUTS` to those of `OUTPUTS`."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, *inputs: Tensor | None) -> Any:
        """Run the pass and save what its backward pass reads."""
        tensors = fold(plan, dict(zip(INPUTS, inputs, strict=True)))
        buffers, ctx.blocks = run_forward(plan, tensors, keep=True)
        ctx.plan = plan
        folded, saved = (tensors[name] for name in FOLDED), (buffers.get(name) for name in SAVED)
        ctx.save_for_backward(*inputs, *folded, *saved)
        ctx.set_materialize_grads(False)
        return tuple(buffers.get(name) for name in OUTPUTS)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        """Run the backward pass; differentiate the plain loop where its graph is needed."""
        plan, needs = ctx.plan, ctx.needs_input_grad[1:]
        inputs = ctx.saved_tensors[: len(INPUTS)]
        if torch.is_grad_enabled():
            return (None, *_differentiable(plan, inputs, needs, grads))
        names = (*INPUTS, *FOLDED)
        tensors: Tensors = {
            name: None if tensor is None else tensor.contiguous()
            for name, tensor in zip(names, ctx.saved_tensors[: len(names)], strict=True)
        }
        buffers: Tensors = dict(zip(SAVED, ctx.saved_tensors[len(names) :], strict=True))
        needed = {name for name, need in zip(INPUTS, needs, strict=True) if need}
        given = dict(zip(OUTPUTS, grads, strict=True))
        found = _gradients(plan, tensors, buffers, needed, ctx.blocks, given)
        return (None, *[found[name] if name in needed else None for name in INPUTS])


def _gradients(
    plan: Plan,
    tensors: Tensors,
    buffers: Tensors,
    needs: set[str],
    blocks: Blocks,
    grads: Tensors,
) -> dict[str, Tensor]:
    grads = {name: None if grad is None else contiguous(grad) for name, grad in grads.items()}
    job = make_job(plan, tensors)
    forward = ForwardBuffers(**addresses(buffers, ForwardBuffers._fields))
    outputs = OutputGrads(**addresses(grads, OutputGrads._fields))
    names = required_grads(plan, needs)
    wanted = {name: tensor for name in names if (tensor := tensors[name]) is not None}
    shared = _row_gradients(plan, job, wanted, grads, tensors["S"])
    added = [name for name in SUMS if name in wanted and name not in shared]
    sums = [{name: torch.zeros_like(wanted[name]) for name in added} for _ in blocks]

    def work(first: int, end: int) -> None:
        own = sums[blocks.index((first, end))] | shared
        workspace = empty(backward_kernel.workspace_size(job, end - first))
        inputs = InputGrads(**addresses(own, InputGrads._fields))
        backward_kernel.backward(job, forward, outputs, inputs, workspace.data_ptr(), first, end)

    run(work, blocks)
    for name, total in sums[0].items():
        for other in sums[1:]:
            total += other[name]
    result = sums[0] | shared
    result["c0"] = result["DC"]
    last_weights, last_hidden = buffers["last_weights"], grads["last_hidden"]
    if "S" in result and last_hidden is not None:
        assert last_weights is not None
        result["S"].addmm_(last_weights.T, last_hidden)
    return unfold(plan, needs, tensors, result)


def _row_gradients(
    plan: Plan, job: Job, wanted: dict[str, Tensor], grads: Tensors, S: Tensor | None
) -> dict[str, Tensor]:
    """Gradients with rows of their own for every sequence, which all threads may write to."""
    last_weights, last_memory = grads["last_weights"], grads["last_memory"]
    last_hidden = grads["last_hidden"]
    D = empty(plan.batch, plan.states or plan.hidden).zero_()
    if last_weights is not None:
        D[: len(last_weights)] = last_weights
    if last_hidden is not None and S is not None:
        D[: len(last_hidden)].addmm_(last_hidden, S.T)
    if last_memory is not None:
        DC = last_memory.clone()
    else:
        DC = empty(plan.batch if plan.cell >= LSTM else 0, plan.hidden).zero_()
    shared = {"D": D, "DC": DC}
    if "X" in wanted and not job.ids:
        shared["X"] = torch.empty_like(wanted["X"])
    if "x" in wanted:
        shared["x"] = torch.empty_like(wanted["x"])
    if "H0" in wanted and not job.shared_start:
        shared["H0"] = torch.zeros_like(wanted["H0"])
    return shared


def _differentiable(
    plan: Plan,
    inputs: Sequence[Tensor | None],
    needs: Sequence[bool],
    grads: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """Gradients that can be differentiated again."""
    outputs = plan.plain(plan, *inputs)
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
