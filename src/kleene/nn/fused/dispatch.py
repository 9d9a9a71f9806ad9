"""Choose the fused path for a pass that it supports, and run it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from kleene.nn.cells import GRU, LSTM, Elman
from kleene.nn.fused.layout import Layout, layout
from kleene.nn.fused.load import use_kernels
from kleene.nn.fused.plain import Plain
from kleene.nn.fused.plan import Plan, Tensors, make_plan
from kleene.nn.fused.switch import enabled
from kleene.nn.inputs import Gates, LookedUp, Projected
from kleene.nn.recurrence import Recurrence, Scan
from kleene.nn.similarity import Cosine, Dot, Euclidean
from kleene.nn.transition import Gumbel, Mixture, SoftArgmax

CELLS, TRANSITIONS = (Elman, GRU, LSTM), (Mixture, SoftArgmax, Gumbel)
SIMILARITIES, KINDS = (Dot, Euclidean, Cosine), (Tensor, torch.nn.Parameter)


def dispatch(
    recurrence: Recurrence,
    inputs: Gates,
    batch_sizes: Sequence[int],
    hidden: Tensor,
    memory: Tensor | None,
    all_steps: bool,
    with_hidden: bool,
) -> Scan | None:
    """Run the pass, or return None if the plain loop must run it."""
    rows = layout(tuple(batch_sizes))
    if not supports(recurrence, inputs, rows, hidden, memory):
        return None
    plan, tensors = make_plan(recurrence, inputs, rows, hidden, memory, all_steps, with_hidden)
    return _run(plan, recurrence, tensors)


def supports(
    recurrence: Recurrence, inputs: Gates, rows: Layout, hidden: Tensor, memory: Tensor | None
) -> bool:
    """Whether the fused path runs this pass."""
    return (
        enabled()
        and _supported_types(recurrence)
        and not _transformed()
        and check_inputs(recurrence, inputs, rows, hidden, memory)
        and use_kernels(rows.time, rows.steps * recurrence.weight.numel())
    )


def _supported_types(recurrence: Recurrence) -> bool:
    component = recurrence.component
    return (
        type(recurrence.cell) in CELLS
        and not recurrence.hidden_noise
        and (
            component is None
            or (
                component.blend is None
                and type(component.transition) in TRANSITIONS
                and type(component.similarity) in SIMILARITIES
            )
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


@functools.cache
def _passes() -> tuple[Callable[[Plan, Recurrence, Tensors], Tensors], ...]:
    """A pass without gradients, and one with them; imported late, since Numba is."""
    from kleene.nn.fused.autograd import Fused
    from kleene.nn.fused.forward import OUTPUTS, run_forward

    def with_grad(plan: Plan, recurrence: Recurrence, tensors: Tensors) -> Tensors:
        plain = Plain(recurrence)
        results = Fused.apply(plan, plain, *tensors.values())  # type: ignore[no-untyped-call]
        return dict(zip(OUTPUTS, results, strict=True))

    return (lambda plan, recurrence, tensors: run_forward(plan, tensors).outputs), with_grad


def _run(plan: Plan, recurrence: Recurrence, tensors: Tensors) -> Scan:
    found = _passes()[plan.needs_grad](plan, recurrence, tensors)
    carried, hidden = found["weights"], tensors["hidden"]
    last = found.get("last_hidden" if plan.states else "last_weights")
    assert carried is not None
    assert hidden is not None
    assert last is not None
    if plan.layout.widest < plan.batch:
        last = torch.cat([last, hidden[plan.layout.widest :]])
    return Scan(
        carried=carried,
        centroids=tensors["S"],
        last_hidden=last,
        memory=found.get("memory"),
        last_memory=found.get("last_memory"),
        scores=found.get("scores"),
        mixtures=found.get("hidden"),
    )
