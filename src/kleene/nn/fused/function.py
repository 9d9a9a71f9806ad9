"""The fused pass as one node of torch's graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from kleene.nn.fused import backward as back
from kleene.nn.fused import forward as fore
from kleene.nn.fused.blas import sgemm_address
from kleene.nn.fused.blocks import run, split
from kleene.nn.fused.cells import GRU, LSTM
from kleene.nn.fused.job import Incoming, Job, Outgoing, Record


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is no tensor."""

    cell: int
    hidden: int
    states: int
    hard: bool
    unit: bool
    batch: int
    steps: int
    sizes: Any  # NumPy; time
    starts: Any  # NumPy; time
    plain: Callable[..., tuple[Tensor | None, ...]]  # the same by torch's own operations

    @property
    def width(self) -> int:
        """Of the recurrent half of the gates, with the hidden vector where the cell reads it."""
        return self.hidden if self.cell < GRU else 4 * self.hidden

    @property
    def gates(self) -> int:
        """Of the input's half of the gates."""
        return 3 * self.hidden if self.cell == GRU else self.width


TENSORS = (
    "X", "ids", "x", "W", "bias", "H0", "M", "h_bias", "keys", "offsets", "noise", "inverse",
    "peephole", "c0",
)  # fmt: skip
OUTPUTS = 5  # weights, scores, memory, last weights, last memory: the first fields of a Record
Tensors = Sequence[Tensor | None]


def address(tensor: Tensor | None) -> int:
    """Where its numbers are; 0 for none."""
    return 0 if tensor is None else tensor.data_ptr()


def make_job(settings: Settings, tensors: Tensors) -> Job:
    """The pass over contiguous tensors, in the order of `TENSORS`, that must outlive it."""
    x, H0 = tensors[TENSORS.index("x")], tensors[TENSORS.index("H0")]
    assert H0 is not None
    return Job(
        sgemm_address(),
        settings.cell,
        int(settings.hard),
        int(settings.unit),
        len(settings.sizes),
        settings.batch,
        settings.hidden,
        settings.states,
        settings.gates,
        settings.width,
        settings.width if settings.states else settings.gates,
        1 if x is None else x.shape[1],
        int(H0.shape[0] == 1),
        settings.sizes.ctypes.data,
        settings.starts.ctypes.data,
        *map(address, tensors),
    )


def make_record(settings: Settings, keep: bool) -> list[Tensor | None]:
    """Room for what a pass writes, in the order of `Record`."""
    k, d, steps = settings.states, settings.hidden, settings.steps
    memory, kept = settings.cell >= LSTM, keep and settings.unit
    return [
        torch.empty(steps, k or d),
        torch.empty(steps, k) if k else None,
        torch.empty(steps, d) if memory else None,
        torch.empty(int(settings.sizes[0]), k or d),
        torch.empty(settings.batch, d) if memory else None,
        torch.empty(steps, settings.width) if keep else None,
        torch.empty(steps, d) if keep and settings.cell == GRU else None,
        torch.empty(steps, d) if kept else None,
        torch.empty(steps) if kept else None,
        torch.empty(steps, k) if keep and settings.hard else None,
    ]


def _contiguous(tensors: Tensors) -> list[Tensor | None]:
    return [None if tensor is None else tensor.contiguous() for tensor in tensors]


class Fused(Function):
    """Weights, scores and memory of all steps, and the last weights and memory."""

    @staticmethod
    def forward(ctx: Any, settings: Settings, *tensors: Tensor | None) -> Any:
        """Run the pass, block by block of sequences."""
        keep = any(ctx.needs_input_grad)
        held = _contiguous(tensors)
        record = make_record(settings, keep)
        c0, last_memory, done = held[-1], record[4], int(settings.sizes[0])
        if last_memory is not None and c0 is not None and done < settings.batch:
            last_memory[done:] = c0.detach()[done:]
        job, arrays = make_job(settings, held), Record(*map(address, record))
        blocks = split(settings.sizes, settings.batch, settings.width * (settings.states + 1))

        def work(first: int, end: int) -> None:
            scratch = torch.empty(fore.room(job, end - first))
            fore.forward(job, arrays, scratch.data_ptr(), first, end, 0)

        run(work, blocks)
        ctx.settings, ctx.blocks = settings, blocks
        if keep:
            ctx.save_for_backward(*tensors, *record)
        ctx.set_materialize_grads(False)
        return tuple(record[:OUTPUTS])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        """Run the pass backward, or differentiate the plain one where a graph is wanted."""
        settings, needs = ctx.settings, ctx.needs_input_grad[1:]
        tensors, record = ctx.saved_tensors[: len(TENSORS)], ctx.saved_tensors[len(TENSORS) :]
        if torch.is_grad_enabled():
            return (None, *_differentiable(settings, tensors, needs, grads))
        return (None, *_gradients(settings, tensors, record, needs, ctx.blocks, grads))


SUMS = ("X", "W", "bias", "H0", "M", "h_bias", "keys", "offsets", "inverse", "peephole")


def _gradients(
    settings: Settings,
    tensors: Tensors,
    record: Tensors,
    needs: Sequence[bool],
    blocks: Sequence[tuple[int, int]],
    grads: Tensors,
) -> list[Tensor | None]:
    held, grads = _contiguous(tensors), _contiguous(grads)
    job, arrays = make_job(settings, held), Record(*map(address, record))
    given = Incoming(*map(address, grads[:3]))
    wanted = {
        name: tensor
        for name, tensor, need in zip(TENSORS, held, needs, strict=True)
        if need and tensor is not None
    }
    shared = _own_rows(settings, job, wanted, grads)
    sums = [
        {name: torch.zeros_like(wanted[name]) for name in SUMS if name in wanted.keys() - shared}
        for _ in blocks
    ]

    def work(first: int, end: int) -> None:
        mine = sums[[block[0] for block in blocks].index(first)] | shared
        scratch = torch.empty(back.room(job, end - first))
        out = Outgoing(*(address(mine.get(name)) for name in Outgoing._fields))
        back.backward(job, arrays, given, out, scratch.data_ptr(), first, end)

    run(work, blocks)
    result = sums[0] | shared
    for name, total in sums[0].items():
        for other in sums[1:]:
            total += other[name]
    result["c0"] = shared["DC"]
    return [result[name] if need else None for name, need in zip(TENSORS, needs, strict=True)]


def _own_rows(
    settings: Settings, job: Job, wanted: dict[str, Tensor], grads: Tensors
) -> dict[str, Tensor]:
    """Gradients in which every sequence has rows of its own, so that threads can share them."""
    last_weights, last_memory = grads[3:]
    D = torch.zeros(settings.batch, settings.states or settings.hidden)
    if last_weights is not None:
        D[: len(last_weights)] = last_weights
    if last_memory is not None:
        DC = last_memory.clone()
    else:
        DC = torch.zeros(settings.batch if settings.cell >= LSTM else 0, settings.hidden)
    shared = {"D": D, "DC": DC}
    if "X" in wanted and not job.ids:
        shared["X"] = torch.empty_like(wanted["X"])
    if "x" in wanted:
        shared["x"] = torch.empty_like(wanted["x"])
    if "H0" in wanted and not job.one_start:
        shared["H0"] = torch.zeros_like(wanted["H0"])
    return shared


def _differentiable(
    settings: Settings, tensors: Tensors, needs: Sequence[bool], grads: Tensors
) -> list[Tensor | None]:
    """Gradients that can be differentiated again."""
    outputs = settings.plain(settings, *tensors)
    pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if g is not None]
    inputs = [t for t, need in zip(tensors, needs, strict=True) if need and t is not None]
    found = torch.autograd.grad(
        [o for o, _ in pairs if o is not None],
        inputs,
        [g for _, g in pairs],
        create_graph=True,
        allow_unused=True,
    )
    left = iter(found)
    return [next(left) if need else None for need in needs]
