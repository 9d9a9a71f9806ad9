"""The fused path: its switch, and the choice of it for a pass that it supports."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from kleene.nn.cells import GRU, LSTM, Elman
from kleene.nn.fused.library import library
from kleene.nn.fused.passes import OUTPUTS, Fused, run_forward
from kleene.nn.fused.plan import Layout, layout, make_plan
from kleene.nn.recurrence import Gates, LookedUp, Projected, Recurrence, Scan, commitment
from kleene.nn.similarity import Cosine, Dot, Euclidean
from kleene.nn.transition import Gumbel, Mixture, SoftArgmax

CELLS = (Elman, GRU, LSTM)
TRANSITIONS = (Mixture, SoftArgmax, Gumbel)
SIMILARITIES, KINDS = (Dot, Euclidean, Cosine), (Tensor, torch.nn.Parameter)
_ON = os.environ.get("KLEENE_FUSED", "1").strip().lower() not in ("0", "false", "off", "no")
_fused: ContextVar[bool] = ContextVar("kleene_fused", default=_ON)


@contextmanager
def use_fused(enabled: bool = True) -> Iterator[None]:
    """Switch the fused CPU path off or on inside a `with` block, in this thread.

    >>> from kleene.nn import use_fused
    >>> with use_fused(False):
    ...     pass  # networks run by torch's operations here

    The environment variable KLEENE_FUSED=0 switches it off for the whole process.
    """
    token = _fused.set(enabled)
    try:
        yield
    finally:
        _fused.reset(token)


def load_kernels() -> bool:
    """Load the kernels, compiled first if need be; False if there are none, or they are off."""
    return _fused.get() and library() is not None


def dispatch(
    recurrence: Recurrence,
    inputs: Gates,
    batch_sizes: Sequence[int],
    hidden: Tensor,
    memory: Tensor | None,
    with_hidden: bool,
) -> Scan | None:
    """Run the pass, or return None if the plain loop must run it."""
    if _transformed() or not _supported_types(recurrence):
        return None
    rows = layout(tuple(batch_sizes))
    if not (check_inputs(recurrence, inputs, rows, hidden, memory) and load_kernels()):
        return None
    return _run(recurrence, inputs, rows, hidden, memory, with_hidden)


def _supported_types(recurrence: Recurrence) -> bool:
    component = recurrence.component
    return type(recurrence.cell) in CELLS and (
        component is None
        or (
            type(component.transition) in TRANSITIONS and type(component.similarity) in SIMILARITIES
        )
    )


def _transformed() -> bool:
    """Whether torch runs the pass in order to record or to transform it."""
    return (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()  # type: ignore[attr-defined,no-untyped-call]
        or torch.is_autocast_enabled("cpu")
        or torch._C._are_functorch_transforms_active()
        or torch.autograd.forward_ad._current_level >= 0
    )


def check_inputs(
    recurrence: Recurrence, inputs: Gates, rows: Layout, hidden: Tensor, memory: Tensor | None
) -> bool:
    """Whether every tensor is of the kind and shape that the compiled loops assume, and every id
    has a row.

    Addresses go to compiled code, which checks nothing. Where this is False, the plain loop runs:
    it broadcasts, or raises torch's own error.
    """
    cell, component = recurrence.cell, recurrence.component
    batch, size = hidden.shape
    width = cell.gates * size
    if not rows.valid or rows.widest > batch or (memory is not None) != cell.has_memory:
        return False
    shapes: list[tuple[Tensor | None, tuple[int, ...]]] = [
        (hidden, (batch, size)),
        (memory, (batch, size)),
        (recurrence.weight, (width, size)),
        (recurrence.bias, (width,)),
        (recurrence.peephole, (cell.peepholes, size)),
    ]
    if component is not None:
        temperature = component.temperature
        shapes.append((component.centroids, (component.num_states, size)))
        shapes.append((temperature, temperature.shape))
        if component.num_states < 1 or temperature.numel() != 1:
            return False
    if isinstance(inputs, Projected):
        columns = inputs.x.shape[-1]
        shapes.append((inputs.x, (rows.steps, columns)))
        shapes.append((inputs.weight, (width, columns)))
        shapes.append((inputs.bias, (width,)))
        if columns < 1:
            return False
    elif isinstance(inputs, LookedUp):
        shapes.append((inputs.table, (inputs.table.shape[0], width)))
    else:
        shapes.append((inputs, (rows.steps, width)))
    for tensor, shape in shapes:
        if tensor is not None and not (
            type(tensor) in KINDS
            and tensor.dtype is torch.float32
            and tensor.is_cpu
            and tensor.shape == shape
        ):
            return False
    if isinstance(inputs, LookedUp):
        ids = inputs.ids.numpy()
        return bool(ids.shape == (rows.steps,) and ids.min() >= 0 and ids.max() < len(inputs.table))
    return True


def _run(
    recurrence: Recurrence,
    inputs: Gates,
    rows: Layout,
    hidden: Tensor,
    memory: Tensor | None,
    with_hidden: bool,
) -> Scan:
    plan, tensors = make_plan(recurrence, inputs, rows, hidden, memory, with_hidden)
    if plan.needs_grad:
        results = Fused.apply(plan, *tensors.values())  # type: ignore[no-untyped-call]
        found = dict(zip(OUTPUTS, results, strict=True))
    else:
        found, _ = run_forward(plan, tensors)
    last = found["last_hidden" if plan.carries_weights else "last_carried"]
    assert found["weights"] is not None
    assert last is not None
    u, mixtures = found.get("u"), found.get("hidden")
    distance = None if u is None or mixtures is None else commitment(u, mixtures)
    return Scan(
        carried=found["weights"],
        centroids=tensors["S"],
        last_hidden=last if len(last) == len(hidden) else torch.cat([last, hidden[len(last) :]]),
        memory=found.get("memory"),
        last_memory=found.get("last_memory"),
        scores=found.get("scores"),
        temperature=tensors["temperature"],
        mixtures=found.get("blended" if plan.blended else "hidden"),
        commitment=distance,
    )
