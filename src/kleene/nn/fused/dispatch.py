"""What the fused path takes, and how it is handed over."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kleene.nn.cells import GRU, LSTM, Elman
from kleene.nn.fused.layout import Layout, layout
from kleene.nn.fused.switch import enabled
from kleene.nn.inputs import Gates, LookedUp, Projected
from kleene.nn.similarity import Cosine, Dot, Euclidean
from kleene.nn.transition import Gumbel, Mixture, SoftArgmax

if TYPE_CHECKING:
    from kleene.nn.fused.fold import Settings, Tensors
    from kleene.nn.scan import Recurrence

CELLS, TRANSITIONS = (Elman, GRU, LSTM), (Mixture, SoftArgmax, Gumbel)
SIMILARITIES, KINDS = (Dot, Euclidean, Cosine), (Tensor, torch.nn.Parameter)


@dataclass(frozen=True, kw_only=True)
class Served:
    """The results of a fused pass."""

    carried: Tensor  # steps state; the weights, or the hidden vectors of a plain recurrence
    scores: Tensor | None  # steps state; None if not asked for
    memory: Tensor | None  # steps hidden; None if not asked for
    last_carried: Tensor  # running state; of the sequences that have a step
    last_memory: Tensor | None  # batch hidden
    hidden: Tensor | None  # steps hidden; mixtures of the centroids, None if not asked for
    last_hidden: Tensor | None  # running hidden; likewise


def serve(
    recurrence: Recurrence,
    inputs: Gates,
    batch_sizes: Sequence[int],
    hidden: Tensor,
    memory: Tensor | None,
    full: bool,
    mixed: bool,
) -> Served | None:
    """Run the pass, or return None if it is not for this path."""
    lines = layout(tuple(batch_sizes))
    if not serves(recurrence, inputs, lines, hidden, memory):
        return None
    return _run(*prepare(recurrence, inputs, lines, hidden, memory, full, mixed))


def serves(
    recurrence: Recurrence, inputs: Gates, lines: Layout, hidden: Tensor, memory: Tensor | None
) -> bool:
    """Whether this pass is for the fused path."""
    return (
        enabled()
        and lines.sound
        and _fits(recurrence, inputs, hidden, memory)
        and _sound(recurrence, inputs, lines, hidden, memory)
        and _ready()
    )


def _fits(recurrence: Recurrence, inputs: Gates, hidden: Tensor, memory: Tensor | None) -> bool:
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
    if any(t is not None and not _plain_tensor(t) for t in tensors):
        return False
    return not (
        torch.jit.is_tracing()  # type: ignore[attr-defined,no-untyped-call]
        or torch.is_autocast_enabled("cpu")
        or torch._C._are_functorch_transforms_active()
        or torch.autograd.forward_ad._current_level >= 0
    )


def _sound(
    recurrence: Recurrence, inputs: Gates, lines: Layout, hidden: Tensor, memory: Tensor | None
) -> bool:
    """Whether every index stays in bounds; the plain loop words the error of those that do not."""
    batch, size = hidden.shape
    steps, width = lines.steps, recurrence.cell.gates * size
    if lines.widest > batch:
        return False
    if memory is not None and memory.shape != hidden.shape:
        return False
    if recurrence.weight.shape != (width, size):
        return False
    component = recurrence.component
    if component is not None and (
        component.centroids.shape[1] != size or component.temperature.numel() != 1
    ):
        return False
    if isinstance(inputs, Projected):
        rows, columns = inputs.x.shape
        return rows == steps and columns > 0 and inputs.weight.shape == (width, columns)
    if isinstance(inputs, LookedUp):
        ids = inputs.ids.numpy()
        if ids.shape != (steps,) or inputs.table.shape[1:] != (width,):
            return False
        return bool(ids.min() >= 0 and ids.max() < inputs.table.shape[0])
    return inputs.shape == (steps, width)


def _plain_tensor(tensor: Tensor) -> bool:
    return type(tensor) in KINDS and tensor.dtype is torch.float32 and tensor.is_cpu


@functools.cache
def _ready() -> bool:
    """Compile, or load what was compiled before; without Numba there is no fused path."""
    try:
        from kleene.nn.fused.kernels.compile import announced

        with announced():
            from kleene.nn.fused.warm import warm

            warm()
    except Exception as error:
        warnings.warn(f"the fused path is off, networks run slower: {error}", stacklevel=2)
        return False
    return True


def _run(settings: Settings, given: Tensors) -> Served:
    from kleene.nn.fused.autograd import OUTPUTS, Fused, run_forward
    from kleene.nn.fused.fold import fold

    if settings.keep:
        results = Fused.apply(settings, *given.values())  # type: ignore[no-untyped-call]
    else:
        results = run_forward(settings, fold(settings, given), keep=False)[0][:OUTPUTS]
    carried, scores, memory, last_carried, last_memory, hidden, last_hidden = results
    return Served(
        carried=carried,
        scores=scores if settings.full else None,
        memory=memory if settings.full else None,
        last_carried=last_carried,
        last_memory=last_memory,
        hidden=hidden,
        last_hidden=last_hidden,
    )


def prepare(
    recurrence: Recurrence,
    inputs: Gates,
    lines: Layout,
    hidden: Tensor,
    memory: Tensor | None,
    full: bool = True,
    mixed: bool = False,
) -> tuple[Settings, Tensors]:
    """What the fused node takes."""
    from kleene.nn.fused.fold import GIVEN, Settings
    from kleene.nn.fused.plain import Plain

    component = recurrence.component
    given: Tensors = dict.fromkeys(GIVEN)
    given |= {"hidden": hidden, "c0": memory, "R": recurrence.weight, "h_bias": recurrence.bias}
    given["peephole"] = recurrence.peephole
    if isinstance(inputs, Projected):
        given |= {"x": inputs.x, "W": inputs.weight, "bias": inputs.bias}
    elif isinstance(inputs, LookedUp):
        given |= {"ids": inputs.ids.long(), "X": inputs.table}
    else:
        given["X"] = inputs
    states, transition, similarity = 0, None, None
    if component is not None:
        states, S = component.num_states, component.centroids
        transition, similarity = component.transition, component.similarity
        given |= {"S": S, "temperature": component.temperature}
        given["noise"] = transition.draw(lines.steps, states, S, component.stochastic)
    keep = torch.is_grad_enabled() and any(
        tensor is not None and tensor.requires_grad for tensor in given.values()
    )
    return Settings(
        cell=_number(recurrence.cell),
        hidden=hidden.shape[1],
        states=states,
        hard=isinstance(transition, SoftArgmax)
        or (isinstance(transition, Gumbel) and transition.hard),
        unit=isinstance(similarity, Cosine),
        offset=isinstance(similarity, Euclidean),
        batch=hidden.shape[0],
        layout=lines,
        from_zero=not (hidden.requires_grad or hidden.numpy().any()),
        keep=keep,
        full=full or keep,
        mixed=mixed and component is not None,
        plain=Plain(recurrence),
    ), given


def _number(cell: Any) -> int:
    from kleene.nn.fused.kernels import cells

    if isinstance(cell, Elman):
        return cells.ELMAN if cell.nonlinearity == "tanh" else cells.RELU
    if isinstance(cell, GRU):
        return cells.GRU
    return cells.PEEPHOLE if cell.peephole else cells.LSTM
