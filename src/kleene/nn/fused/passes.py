"""Run a pass: one compiled call per thread, forward and backward, as one node of torch's graph."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import compress, pairwise
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from kleene.errors import SettingError
from kleene.nn.fused.buffers import empty, empty_cached
from kleene.nn.fused.library import kernel, limit_threads, workspace
from kleene.nn.fused.plan import INPUTS, JOB, PLACES, Layout, Plan, Tensors

OUTPUTS = (
    "weights", "scores", "memory", "last_carried", "last_memory", "hidden", "last_hidden",
    "blended", "u",
)  # fmt: skip
"""The results of a pass, in this order; None where there is none or it was not asked for."""
SAVED = (
    "weights", "scores", "memory", "last_carried", "blended", "G", "N", "Q", "norms", "soft",
)  # fmt: skip
"""What the backward pass reads of the forward pass."""
MIN_WORK = 4_000_000  # multiplications below which a second thread costs more than it saves
Blocks: TypeAlias = Sequence[tuple[int, int]]
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def run_forward(plan: Plan, tensors: Tensors) -> tuple[Tensors, Blocks]:
    """Run the pass, one block of sequences per thread; returns all that it wrote."""
    k, d, steps, widest = plan.states, plan.hidden, plan.layout.steps, plan.layout.widest
    carried = k if plan.carries_weights else d
    written: Tensors = {"weights": empty(steps, k or d), "last_carried": empty(widest, carried)}
    if k:
        written["scores"] = empty_cached(steps, k)
    if plan.carries_weights:
        written["last_hidden"] = empty(widest, d)
    if plan.blended:
        written["blended"], written["u"] = empty(steps, d), empty(steps, d)
    if (c0 := tensors["c0"]) is not None:
        written["memory"] = empty_cached(steps, d)
        written["last_memory"] = last_memory = empty(plan.batch, d)
        last_memory[widest:] = c0[widest:]
    if plan.with_hidden:
        written["hidden"] = empty(steps, d)
    for name, shape in plan.inner.items():
        written[name] = empty_cached(*shape)
    call, kept = _call(plan, tensors, written)
    blocks = split(plan.layout, plan.batch, plan.width * (k + 1))
    _run("forward", plan.cell, [call, *(call[:] for _ in blocks[1:])], blocks)
    del kept  # which had to outlive the calls
    return written, blocks


def run_backward(
    plan: Plan,
    tensors: Tensors,
    needs: Sequence[str],
    written: Tensors,
    blocks: Blocks,
    grads: Tensors,
) -> dict[str, Tensor]:
    """Gradients of the inputs in `needs` from those of the results."""
    call, kept = _call(plan, tensors, written)
    for name, grad in grads.items():
        if grad is not None:
            kept.append(grad.contiguous())
            call[PLACES[f"grads.{name}"]] = kept[-1].data_ptr()
    rows = ("x", "c0") if tensors["ids"] is not None else ("x", "c0", "X")
    sums = [
        {
            name: empty_cached(*tensor.shape)
            for name in needs
            if (tensor := tensors[name]) is not None
        }
    ]
    for _ in blocks[1:]:  # of the rows each thread writes its own
        sums.append({name: g if name in rows else empty(*g.shape) for name, g in sums[0].items()})
    calls = [call, *(call[:] for _ in sums[1:])]
    for one, own in zip(calls, sums, strict=True):
        for name, grad in own.items():
            one[PLACES[f"out.{name}"]] = grad.data_ptr()
            if name not in rows:
                grad.zero_()  # to be added to
        if tensors["keys"] is None:
            one[PLACES["out.keys"]] = one[PLACES["out.S"]]
    _run("backward", plan.cell, calls, blocks)
    del kept
    for own in sums[1:]:
        for name, grad in own.items():
            if name not in rows:
                sums[0][name] += grad
    return sums[0]


def _call(plan: Plan, tensors: Tensors, written: Tensors) -> tuple[array[int], list[Tensor]]:
    """The arguments of a pass, and tensors that must outlive it: contiguous copies among them."""
    call, kept = plan.arguments[:], []
    for record, all_ in (("job", tensors), ("fwd", written)):
        for name, tensor in all_.items():
            if tensor is not None:
                kept.append(tensor.contiguous())
                call[PLACES[f"{record}.{name}"]] = kept[-1].data_ptr()
    if tensors["keys"] is None:
        call[PLACES["job.keys"]] = call[PLACES["job.S"]]
    return call, kept


def split(layout: Layout, batch: int, weights: int) -> Blocks:
    """Blocks of sequences (first, end) of about equal work, at most one per thread."""
    steps = layout.steps
    threads = min(torch.get_num_threads(), batch, 1 + steps * weights // MIN_WORK)
    if threads <= 1:
        return [(0, batch)]
    lengths = (layout.sizes[:, None] > np.arange(batch)).sum(0)  # longest first
    done = lengths.cumsum()
    cuts = [int(np.searchsorted(done, steps * i / threads)) + 1 for i in range(1, threads)]
    edges = sorted({0, batch, *(min(cut, batch) for cut in cuts)})
    return list(pairwise(edges))


def _run(direction: str, cell: str, calls: Sequence[array[int]], blocks: Blocks) -> None:
    """Call a kernel for each block, on a thread each, with BLAS on one thread."""
    compiled, floats = kernel(direction, cell), workspace(direction)
    addresses, workspaces = [call.buffer_info()[0] for call in calls], []
    for call, address, (first, end) in zip(calls, addresses, blocks, strict=True):
        workspaces.append(empty_cached(floats(address + JOB, end - first)))
        call[:3] = array("q", (workspaces[-1].data_ptr(), first, end))
    before = None if torch.get_num_threads() == 1 else limit_threads()(1)
    try:
        futures = [_pool(len(calls) - 1).submit(compiled, one) for one in addresses[1:]]
        try:
            compiled(addresses[0])
        finally:
            for future in futures:
                future.result()
    finally:
        if before is not None:
            limit_threads()(before)


def _pool(threads: int) -> ThreadPoolExecutor:
    key = (os.getpid(), threads)  # threads do not survive a fork
    if key not in _pools:
        _pools[key] = ThreadPoolExecutor(
            threads, thread_name_prefix="kleene", initializer=partial(limit_threads(), 1)
        )
    return _pools[key]


class Fused(Function):
    """From the tensors of `INPUTS` to those of `OUTPUTS`."""

    @staticmethod
    def forward(ctx: Any, plan: Plan, *inputs: Tensor | None) -> Any:
        """Run the pass and save what its backward pass reads."""
        written, ctx.blocks = run_forward(plan, dict(zip(INPUTS, inputs, strict=True)))
        ctx.plan = plan
        ctx.save_for_backward(*inputs, *(written.get(name) for name in SAVED))
        ctx.set_materialize_grads(False)
        return tuple([written.get(name) for name in OUTPUTS])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        if torch.is_grad_enabled():
            raise SettingError(
                "the compiled kernels have no gradients of gradients; run the pass with "
                "`with kleene.nn.use_fused(False)`"
            )
        saved = ctx.saved_tensors
        tensors = dict(zip(INPUTS, saved, strict=False))
        needs = list(compress(INPUTS, ctx.needs_input_grad[1:]))
        written = dict(zip(SAVED, saved[len(INPUTS) :], strict=True))
        result_grads = dict(zip(OUTPUTS, grads, strict=True))
        found = run_backward(ctx.plan, tensors, needs, written, ctx.blocks, result_grads)
        return (None, *[found.get(name) for name in INPUTS])
