"""Choose the fused path for a pass that it supports, and run it."""

from __future__ import annotations

from collections.abc import Sequence

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
        and _supported_types(recurrence, inputs, hidden, memory)
        and check_inputs(recurrence, inputs, rows, hidden, memory)
        and use_kernels(rows.time, rows.steps * recurrence.weight.numel())
    )


def _supported_types(
    recurrence: Recurrence, inputs: Gates, hidden: Tensor, memory: Tensor | None
) -> bool:
    component = recurrence.component
    if type(recurrence.cell) not in CELLS or torch.compiler.is_compiling():
        return False
    tensors = [hidden, memory, recurrence.weight, recurrence.bias, recurrence.peephole]
    if component is not None:
        if type(component.transition) not in TRANSITIONS:
            return False
        if type(component.similarity) not in SIMILARITIES:
            return False
        tensors += [component.centroids, component.temperature]
    if isinstance(inputs, Projected):
        tensors += [inputs.x, inputs.weight, inputs.bias]
    else:
        tensors.append(inputs.table if isinstance(inputs, LookedUp) else inputs)
    if any(t is not None and not _supported_tensor(t) for t in tensors):
        return False
    return not (
        torch.jit.is_tracing()  # type: ignore[attr-defined,no-untyped-call]
        or torch.is_autocast_enabled("cpu")
        or torch._C._are_functorch_transforms_active()
        or torch.autograd.forward_ad._current_level >= 0
    )


def check_inputs(
    recurrence: Recurrence, inputs: Gates, rows: Layout, hidden: Tensor, memory: Tensor | None
) -> bool:
    """Whether every tensor has the shape that the compiled loops assume, and every id a row.

    Addresses go to compiled code, which checks nothing. Where this is False, the plain loop runs:
    it broadcasts, or raises torch's own error.
    """
    cell, component = recurrence.cell, recurrence.component
    batch, size = hidden.shape
    width = cell.gates * size
    if not rows.valid or rows.widest > batch or (memory is not None) != cell.has_memory:
        return False
    shapes: list[tuple[Tensor | None, tuple[int, ...]]] = [
        (memory, (batch, size)),
        (recurrence.weight, (width, size)),
        (recurrence.bias, (width,)),
        (recurrence.peephole, (cell.peepholes, size)),
    ]
    if component is not None:
        shapes.append((component.centroids, (component.num_states, size)))
        if component.num_states < 1 or component.temperature.numel() != 1:
            return False
    if isinstance(inputs, Projected):
        columns = inputs.x.shape[-1]
        shapes += [
            (inputs.x, (rows.steps, columns)),
            (inputs.weight, (width, columns)),
            (inputs.bias, (width,)),
        ]
        if columns < 1:
            return False
    elif isinstance(inputs, LookedUp):
        ids, symbols = inputs.ids.numpy(), inputs.table.shape[0]
        shapes.append((inputs.table, (symbols, width)))
        if ids.shape != (rows.steps,) or ids.min() < 0 or ids.max() >= symbols:
            return False
    else:
        shapes.append((inputs, (rows.steps, width)))
    return all(tensor is None or tensor.shape == shape for tensor, shape in shapes)


def _supported_tensor(tensor: Tensor) -> bool:
    return type(tensor) in KINDS and tensor.dtype is torch.float32 and tensor.is_cpu


def _run(plan: Plan, recurrence: Recurrence, tensors: Tensors) -> Scan:
    from kleene.nn.fused.autograd import Fused
    from kleene.nn.fused.forward import OUTPUTS, run_forward

    found: Tensors
    if plan.needs_grad:
        plain = Plain(recurrence)
        results = Fused.apply(plan, plain, *tensors.values())  # type: ignore[no-untyped-call]
        found = dict(zip(OUTPUTS, results, strict=True))
    else:
        found = run_forward(plan, tensors).outputs
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
