"""The fused pass as one node of torch's graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd import Function

from kleene.nn.fused.blocks import run, split
from kleene.nn.fused.buffers import floats, lend, packed
from kleene.nn.fused.fold import GIVEN, Settings, Tensors, asked, fold, unfold
from kleene.nn.fused.kernels import backward as back
from kleene.nn.fused.kernels import forward as fore
from kleene.nn.fused.kernels.blas import sgemm_address
from kleene.nn.fused.kernels.cells import GRU, LSTM
from kleene.nn.fused.kernels.records import Incoming, Job, Outgoing, Record

ADDRESSES = Job._fields[Job._fields.index("X") :]  # a job's tensors, after its shapes
FOLDED = (  # of them, those that `fold` makes or changes
    "bias", "H0", "M", "h_bias", "keys", "offsets", "peephole",
)  # fmt: skip
MIXED = range(5, 7)  # the fields of a Record that are mixtures of the centroids
OUTPUTS = MIXED.stop  # its first fields, up to these
Blocks: TypeAlias = Sequence[tuple[int, int]]


def address(tensor: Tensor | None) -> int:
    """Where its numbers are; 0 for none."""
    return 0 if tensor is None else tensor.data_ptr()


def make_job(settings: Settings, held: Tensors) -> Job:
    """The pass over what `fold` made, which must outlive it."""
    x, H0 = held["x"], held["H0"]
    assert H0 is not None
    return Job(
        sgemm_address(),
        settings.cell,
        int(settings.hard),
        int(settings.unit),
        len(settings.layout.sizes),
        settings.batch,
        settings.hidden,
        settings.states,
        settings.gates,
        settings.width,
        settings.width if settings.states else settings.gates,
        1 if x is None else x.shape[1],
        int(H0.shape[0] == 1),
        int(not settings.full),
        *settings.layout.places,
        *[address(held[name]) for name in ADDRESSES],
    )


def make_record(settings: Settings, keep: bool) -> list[Tensor | None]:
    """Room for what a pass writes, in the order of `Record`."""
    k, d, steps = settings.states, settings.hidden, settings.layout.steps
    memory, kept = settings.cell >= LSTM, keep and settings.unit
    rows = steps if settings.full else 2 * settings.batch
    return [
        floats(steps, k or d),
        lend(rows, k) if k else None,
        lend(rows, d) if memory else None,
        floats(settings.layout.widest, k or d),
        floats(settings.batch, d) if memory else None,
        floats(steps, d) if settings.mixed else None,
        floats(settings.layout.widest, d) if settings.mixed else None,
        lend(steps, settings.width) if keep else None,
        lend(steps, d) if keep and settings.cell == GRU else None,
        lend(steps, d) if kept else None,
        lend(steps) if kept else None,
        lend(steps, k) if keep and settings.hard else None,
    ]


def run_forward(
    settings: Settings, held: Tensors, keep: bool
) -> tuple[list[Tensor | None], Blocks]:
    """Run the pass, block by block of sequences; the fields of a `Record`, and the blocks."""
    record = make_record(settings, keep)
    c0, last_memory, done = held["c0"], record[4], settings.layout.widest
    if last_memory is not None and c0 is not None and done < settings.batch:
        last_memory[done:] = c0[done:]
    job, arrays = make_job(settings, held), Record(*map(address, record))
    blocks = split(settings.layout, settings.batch, settings.width * (settings.states + 1))

    def work(first: int, end: int) -> None:
        scratch = floats(fore.room(job, end - first))
        fore.forward(job, arrays, scratch.data_ptr(), first, end, 0)

    run(work, blocks)
    return record, blocks


class Fused(Function):
    """The outputs of a pass, in the order of a `Record`."""

    @staticmethod
    def forward(ctx: Any, settings: Settings, *tensors: Tensor | None) -> Any:
        """Run the pass and keep what the way back needs."""
        held = fold(settings, dict(zip(GIVEN, tensors, strict=True)))
        record, ctx.blocks = run_forward(settings, held, keep=True)
        ctx.settings = settings
        unread = [None] * len(MIXED)  # on the way back; whoever gets them may write to them
        kept = [*record[: MIXED.start], *unread, *record[MIXED.stop :]]
        ctx.save_for_backward(*tensors, *[held[name] for name in FOLDED], *kept)
        ctx.set_materialize_grads(False)
        return tuple(record[:OUTPUTS])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        """Run the pass backward, or differentiate the plain one where a graph is wanted."""
        settings, needs = ctx.settings, ctx.needs_input_grad[1:]
        saved = ctx.saved_tensors
        tensors, rest = saved[: len(GIVEN)], saved[len(GIVEN) :]
        if torch.is_grad_enabled():
            return (None, *_differentiable(settings, tensors, needs, grads))
        held: Tensors = {
            name: None if tensor is None else tensor.contiguous()
            for name, tensor in zip(GIVEN, tensors, strict=True)
        }
        held |= zip(FOLDED, rest[: len(FOLDED)], strict=True)
        wanted = {name for name, need in zip(GIVEN, needs, strict=True) if need}
        found = _gradients(settings, held, rest[len(FOLDED) :], wanted, ctx.blocks, grads)
        return (None, *[found[name] if name in wanted else None for name in GIVEN])


SUMS = ("X", "W", "bias", "H0", "M", "h_bias", "S", "keys", "offsets", "temperature", "peephole")


def _gradients(
    settings: Settings,
    held: Tensors,
    record: Sequence[Tensor | None],
    needs: set[str],
    blocks: Blocks,
    grads: Sequence[Tensor | None],
) -> dict[str, Tensor]:
    incoming = [None if grad is None else packed(grad) for grad in grads]
    job, arrays = make_job(settings, held), Record(*map(address, record))
    hidden, last_hidden = (incoming[i] for i in MIXED)
    given = Incoming(*map(address, (*incoming[:3], hidden)))
    names = asked(settings, needs)
    wanted = {name: tensor for name in names if (tensor := held[name]) is not None}
    shared = _own_rows(settings, job, wanted, incoming, held["S"])
    added = [name for name in SUMS if name in wanted and name not in shared]
    sums = [{name: torch.zeros_like(wanted[name]) for name in added} for _ in blocks]

    def work(first: int, end: int) -> None:
        mine = sums[blocks.index((first, end))] | shared
        scratch = floats(back.room(job, end - first))
        out = Outgoing(*[address(mine.get(name)) for name in Outgoing._fields])
        back.backward(job, arrays, given, out, scratch.data_ptr(), first, end)

    run(work, blocks)
    for name, total in sums[0].items():
        for other in sums[1:]:
            total += other[name]
    result = sums[0] | shared
    result["c0"] = result["DC"]
    if "S" in result and last_hidden is not None:
        last_weights = record[3]
        assert last_weights is not None
        result["S"].addmm_(last_weights.T, last_hidden)
    return unfold(settings, needs, held, result)


def _own_rows(
    settings: Settings,
    job: Job,
    wanted: dict[str, Tensor],
    grads: Sequence[Tensor | None],
    S: Tensor | None,
) -> dict[str, Tensor]:
    """Gradients in which every sequence has rows of its own, so that threads can share them."""
    last_weights, last_memory, _, last_hidden = grads[3:]
    D = floats(settings.batch, settings.states or settings.hidden).zero_()
    if last_weights is not None:
        D[: len(last_weights)] = last_weights
    if last_hidden is not None and S is not None:
        D[: len(last_hidden)].addmm_(last_hidden, S.T)
    if last_memory is not None:
        DC = last_memory.clone()
    else:
        DC = floats(settings.batch if settings.cell >= LSTM else 0, settings.hidden).zero_()
    shared = {"D": D, "DC": DC}
    if "X" in wanted and not job.ids:
        shared["X"] = torch.empty_like(wanted["X"])
    if "x" in wanted:
        shared["x"] = torch.empty_like(wanted["x"])
    if "H0" in wanted and not job.one_start:
        shared["H0"] = torch.zeros_like(wanted["H0"])
    return shared


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
    found = torch.autograd.grad(
        [o for o, _ in pairs if o is not None],
        inputs,
        [g for _, g in pairs],
        create_graph=True,
        allow_unused=True,
    )
    left = iter(found)
    return [next(left) if need else None for need in needs]
