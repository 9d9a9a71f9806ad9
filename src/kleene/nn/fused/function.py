"""The fused pass as one node of torch's graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

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
    sizes: Any  # NumPy; time
    starts: Any  # NumPy; time
    plain: Callable[..., tuple[Tensor, ...]]  # the same by torch's own operations

    @property
    def steps(self) -> int:
        """Of all sequences together."""
        return int(self.sizes.sum())


TENSORS = (
    "X", "ids", "x", "W", "bias", "H0", "M", "h_bias", "keys", "offsets", "noise", "inverse",
    "peephole", "c0",
)  # fmt: skip
LINES = ("bias", "h_bias", "offsets", "inverse", "norms")  # arrays of one dimension
_LINE, _PLANE, _IDS = np.empty(0, np.float32), np.empty((0, 0), np.float32), np.empty(0, np.int64)


def _array(name: str, tensor: Tensor | None) -> Any:
    if tensor is None:
        return _IDS if name == "ids" else _LINE if name in LINES else _PLANE
    return tensor.detach().contiguous().numpy()


def _job(settings: Settings, tensors: dict[str, Tensor | None]) -> Job:
    arrays = {name: _array(name, tensor) for name, tensor in tensors.items()}
    return Job(
        sgemm=sgemm_address(),
        cell=settings.cell,
        states=settings.states,
        hard=settings.hard,
        unit=settings.unit,
        sizes=settings.sizes,
        starts=settings.starts,
        **arrays,
    )


def _record(settings: Settings, keep: bool) -> dict[str, Tensor]:
    """Room for what a pass writes; `rows` is all steps, or one where nothing is kept."""
    k, d, steps, batch = settings.states, settings.hidden, settings.steps, settings.batch
    rows = steps if keep else batch
    memory = settings.cell >= LSTM
    gates = 1 if settings.cell < GRU else 4
    shapes = {
        "G": (rows, gates * d),
        "N": (rows if settings.cell == GRU else 0, d),
        "C": (steps if memory else 0, d),
        "Q": (rows if settings.unit else 0, d),
        "norms": (rows if settings.unit else 0,),
        "scores": (steps if k else 0, k),
        "weights": (steps, k or d),
        "soft": (rows if settings.hard else 0, k),
        "last_weights": (int(settings.sizes[0]) if len(settings.sizes) else 0, k or d),
        "last_memory": (batch if memory else 0, d),
    }
    return {name: torch.empty(shape) for name, shape in shapes.items()}


class Fused(Function):
    """Weights, scores and memory of all steps, and the last weights and memory."""

    @staticmethod
    def forward(ctx: Any, settings: Settings, *tensors: Tensor | None) -> tuple[Tensor, ...]:
        """Run the pass, block by block of sequences."""
        keep = any(ctx.needs_input_grad)
        job = _job(settings, dict(zip(TENSORS, tensors, strict=True)))
        record = _record(settings, keep)
        if settings.cell >= LSTM:
            done = record["last_weights"].shape[0]
            c0 = tensors[TENSORS.index("c0")]
            assert c0 is not None
            record["last_memory"][done:] = c0.detach()[done:]
        arrays = Record(**{name: tensor.numpy() for name, tensor in record.items()})
        from kleene.nn.fused.forward import forward

        blocks = split(settings.sizes, settings.batch, job.M.size)
        run(lambda first, end: forward(job, arrays, first, end, keep), blocks)
        ctx.settings, ctx.blocks = settings, blocks
        if keep:
            ctx.save_for_backward(*tensors, *record.values())
        ctx.set_materialize_grads(False)
        output = [record[name] for name in ("weights", "scores", "C", "last_weights", "last_memory")]
        ctx.mark_non_differentiable(*(one for one in output if not one.numel()))
        return tuple(output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        """Run the pass backward, or differentiate the plain one where a graph is wanted."""
        settings, saved = ctx.settings, ctx.saved_tensors
        tensors = saved[: len(TENSORS)]
        if torch.is_grad_enabled():
            return (None, *_differentiable(settings, tensors, ctx.needs_input_grad[1:], grads))
        record = Record(*(tensor.detach().numpy() for tensor in saved[len(TENSORS) :]))
        needs = dict(zip(TENSORS, ctx.needs_input_grad[1:], strict=True))
        job = _job(settings, dict(zip(TENSORS, tensors, strict=True)))
        return (None, *_gradients(settings, job, record, needs, ctx.blocks, grads))


def _gradients(
    settings: Settings,
    job: Job,
    record: Record,
    needs: dict[str, bool],
    blocks: Sequence[tuple[int, int]],
    grads: Sequence[Tensor | None],
) -> list[Tensor | None]:
    weights, scores, memory, last_weights, last_memory = grads
    given = Incoming(_array("", weights), _array("", scores), _array("", memory))
    k, d, batch = settings.states, settings.hidden, settings.batch
    D = torch.zeros(batch, k or d)
    if last_weights is not None:
        D[: len(last_weights)] = last_weights
    DC = torch.zeros(batch if settings.cell >= LSTM else 0, d)
    if last_memory is not None and last_memory.numel():
        DC.copy_(last_memory)
    table, one_start = bool(job.ids.size), job.H0.shape[0] == 1
    shared = {"D": D, "DC": DC}
    for name, whole in (("X", not table), ("x", True), ("H0", not one_start)):
        if needs[name] and whole:
            shared[name] = torch.empty(getattr(job, name).shape)
    if "H0" in shared:
        shared["H0"][int(settings.sizes[0]) if len(settings.sizes) else 0 :] = 0
    summed = {
        name: getattr(job, name).shape
        for name in ("X", "W", "bias", "H0", "M", "h_bias", "keys", "offsets", "inverse")
        if needs[name] and name not in shared
    }
    summed["M"] = job.M.shape  # always there: the loop adds to it
    summed["peephole"] = job.peephole.shape
    from kleene.nn.fused.backward import backward

    sums = [{name: torch.zeros(shape) for name, shape in summed.items()} for _ in blocks]

    def work(first: int, end: int) -> None:
        mine = sums[[block[0] for block in blocks].index(first)] | shared
        out = Outgoing(*(_array(name, mine.get(name)) for name in Outgoing._fields))
        backward(job, record, given, out, first, end)

    run(work, blocks)
    total = {name: sum((s[name] for s in sums[1:]), sums[0][name]) for name in summed} if sums else {}
    result = {**shared, **total, "c0": DC}
    return [result.get(name) if needs[name] else None for name in TENSORS]


def _differentiable(
    settings: Settings,
    tensors: Sequence[Tensor | None],
    needs: Sequence[bool],
    grads: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """Gradients that can be differentiated again."""
    outputs = settings.plain(settings, *tensors)
    pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if g is not None]
    inputs = [t for t, need in zip(tensors, needs, strict=True) if need and t is not None]
    found = iter(
        torch.autograd.grad(
            [o for o, _ in pairs], inputs, [g for _, g in pairs], create_graph=True, allow_unused=True
        )
    )
    return [next(found) if need else None for need in needs]
