"""Run the backward pass: one compiled call per thread, then the gradients of the weights."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple

from torch import Tensor

from kleene.nn.fused.blocks import run, run_blocks
from kleene.nn.fused.buffers import Sections, contiguous, empty
from kleene.nn.fused.forward import Pass, write_buffers, write_inputs
from kleene.nn.fused.kernels import backward as kernel
from kleene.nn.fused.kernels import fold as fold_kernel
from kleene.nn.fused.kernels.records import GRU, InputGrads, OutputGrads, WeightGrads, place
from kleene.nn.fused.plan import Plan, Tensors

OUTPUT_PLACES = {name: place(OutputGrads, name) for name in OutputGrads._fields}
S, KEYS = place(InputGrads, "S"), place(InputGrads, "keys")


def gradients(
    plan: Plan, tensors: Tensors, needs: tuple[str, ...], done: Pass, grads: Tensors
) -> dict[str, Tensor]:
    """Gradients of the inputs in `needs` from those of the results."""
    call = plan.arguments[:]
    kept = write_inputs(plan, tensors, call)
    plan.folded.write(done.folded, call)
    write_buffers(plan, done.outputs, done.inner, call)
    for number, (name, grad) in enumerate(grads.items(), 1):
        if grad is not None:
            kept.append(contiguous(grad, -number))  # beside the workspaces of the blocks
            call[OUTPUT_PLACES[name]] = kept[-1].data_ptr()

    to = _targets(plan, needs, tensors["ids"] is not None)
    found = {name: _empty(tensors[name]) for name in needs}
    sums = [found]
    for _ in done.blocks[1:]:  # rows, of which each thread writes its own, are shared
        sums.append(found | {name: _empty(found[name]) for name in to.added})
    folded = [to.folded.empty() for _ in sums]
    calls = [call, *(call[:] for _ in sums[1:])]
    for one, own, buffer in zip(calls, sums, folded, strict=True):
        if to.table:
            own["X"].zero_()  # the rest is cleared by the kernel
        for name, at in to.loops:
            one[at] = own[name].data_ptr()
        one[KEYS] = one[S]
        to.folded.write(buffer, one)
    run_blocks(kernel.backward, calls, done.blocks, partial(kernel.workspace_size, plan))

    for own, buffer in zip(sums[1:], folded[1:], strict=True):
        folded[0] += buffer
        for name in to.added:
            found[name] += own[name]
    for name, at in to.unfold:
        call[at] = found[name].data_ptr()
    run(fold_kernel.unfold, [call])
    del kept  # which had to outlive the calls
    return found


class _Targets(NamedTuple):
    """Where gradients go."""

    loops: list[tuple[str, int]]  # those which the loops make: name, and place in a call
    unfold: list[tuple[str, int]]  # and those which `unfold` makes
    added: list[str]  # of the first: those to which every sequence adds
    table: bool  # whether the gates of symbols are among them
    folded: Sections  # gradients of the folded weights on which the others depend


@lru_cache(maxsize=256)
def _targets(plan: Plan, needs: tuple[str, ...], ids: bool) -> _Targets:
    later = {name: name for name in ("R", "hidden", "h_bias", "S")}
    if plan.cell != GRU:
        later["bias"] = "x_bias"  # part of the same sum
    loops = [name for name in needs if name not in later or name == "S"]
    rows = ("x", "c0") if ids else ("x", "c0", "X")
    return _Targets(
        loops=[(name, place(InputGrads, name)) for name in loops],
        unfold=[(name, place(WeightGrads, later[name])) for name in needs if name in later],
        added=[name for name in loops if name not in rows],
        table=ids and "X" in needs,
        folded=_folded(plan, needs),
    )


def _folded(plan: Plan, needs: tuple[str, ...]) -> Sections:
    k, d = plan.states, plan.hidden
    biases = "h_bias" in needs or ("bias" in needs and plan.cell != GRU)
    starts = biases or (not plan.from_zero and ("R" in needs or "hidden" in needs))
    has_M = "R" in needs or (k > 0 and (biases or "S" in needs))
    return Sections(
        InputGrads,
        {
            "H0": plan.width * plan.starts if starts else 0,
            "M": (k * plan.width if k else d * plan.gates) if has_M else 0,
            "h_bias": plan.gates if biases and not k else 0,
            "keys": k * d if plan.normalised and "S" in needs else 0,
            "offsets": k if plan.offset and "S" in needs else 0,
        },
    )


def _empty(tensor: Tensor | None) -> Tensor:
    assert tensor is not None
    return empty(*tensor.shape)
