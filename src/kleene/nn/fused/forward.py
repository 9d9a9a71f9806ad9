"""Run the forward pass: fold the weights, then one compiled call per thread."""

from __future__ import annotations

from array import array
from functools import partial
from typing import NamedTuple

from torch import Tensor

from kleene.nn.fused.blocks import Blocks, run, run_blocks, split
from kleene.nn.fused.buffers import empty, empty_cached
from kleene.nn.fused.folded import MAX_FLOATS, find, keep
from kleene.nn.fused.kernels import fold as fold_kernel
from kleene.nn.fused.kernels import forward as kernel
from kleene.nn.fused.kernels.fingerprint import fingerprint
from kleene.nn.fused.kernels.records import LSTM, ForwardBuffers, Job, place
from kleene.nn.fused.plan import Plan, Tensors

OUTPUTS = (
    "weights", "scores", "memory", "last_weights", "last_memory", "hidden", "last_hidden",
)  # fmt: skip
"""The results of a pass, in this order; None where they are not asked for."""
OUTPUT_PLACES = {name: place(ForwardBuffers, name) for name in OUTPUTS}
S, KEYS = place(Job, "S"), place(Job, "keys")


class Pass(NamedTuple):
    """What a forward pass leaves behind."""

    outputs: Tensors
    inner: Tensor  # `Plan.inner`
    folded: Tensor  # `Plan.folded`
    blocks: Blocks


def write_inputs(plan: Plan, tensors: Tensors, call: array[int]) -> list[Tensor]:
    """Write the addresses of the tensors to the arguments of a call.

    Returns tensors that must outlive it: they are copies where compiled code could not read them.
    """
    kept = []
    for name, at in plan.input_places.items():
        tensor = tensors[name]
        if tensor is not None:
            tensor = tensor.contiguous()
            kept.append(tensor)
            call[at] = tensor.data_ptr()
    call[KEYS] = call[S]
    return kept


def write_buffers(plan: Plan, outputs: Tensors, inner: Tensor, call: array[int]) -> None:
    """Write the addresses of everything that a pass writes."""
    plan.inner.write(inner, call)
    for name, tensor in outputs.items():
        if tensor is not None:
            call[OUTPUT_PLACES[name]] = tensor.data_ptr()


def fold(plan: Plan, call: array[int]) -> Tensor:
    """The folded weights; their addresses are written to the call."""
    kept = not plan.needs_grad and plan.from_zero and plan.folded.floats <= MAX_FLOATS
    key = (fingerprint(call.buffer_info()[0]), *plan.folding) if kept else None
    found = find(key)
    folded = plan.folded.empty() if found is None else found
    plan.folded.write(folded, call)
    if found is None:
        run(fold_kernel.fold, [call])
        keep(key, folded)
    return folded


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


def run_forward(plan: Plan, tensors: Tensors) -> Pass:
    """Run the pass, one block of sequences per thread."""
    call, outputs, inner = plan.arguments[:], make_outputs(plan), plan.inner.empty()
    kept = write_inputs(plan, tensors, call)
    c0, last_memory, done = tensors["c0"], outputs.get("last_memory"), plan.layout.widest
    if last_memory is not None and c0 is not None and done < plan.batch:
        last_memory[done:] = c0[done:]
    write_buffers(plan, outputs, inner, call)
    folded = fold(plan, call)
    blocks = split(plan.layout, plan.batch, plan.width * (plan.states + 1))
    calls = [call, *(call[:] for _ in blocks[1:])]
    run_blocks(kernel.forward, calls, blocks, partial(kernel.workspace_size, plan))
    del kept
    return Pass(outputs, inner, folded, blocks)
