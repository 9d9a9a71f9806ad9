"""What the fused path takes, and how it is prepared: torch's half of the work.

M = S R^T + b, the keys and the start are built by torch, whose graph carries their gradients on to
the weights; the fused node sees only what the loop uses.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from kleene.nn.cells import GRU, LSTM, Elman
from kleene.nn.fused.switch import enabled
from kleene.nn.inputs import Gates, LookedUp, Projected
from kleene.nn.similarity import Cosine, Dot, Euclidean
from kleene.nn.transition import Gumbel, Mixture, SoftArgmax

if TYPE_CHECKING:
    from kleene.nn.fused.function import Settings
    from kleene.nn.scan import Component, Recurrence

CELLS, TRANSITIONS = (Elman, GRU, LSTM), (Mixture, SoftArgmax, Gumbel)
SIMILARITIES = (Dot, Euclidean, Cosine)


@dataclass(frozen=True, kw_only=True)
class Served:
    """The results of a fused pass."""

    carried: Tensor  # steps state; the weights, or the hidden vectors of a plain recurrence
    scores: Tensor | None  # steps state
    memory: Tensor | None  # steps hidden
    last_carried: Tensor  # running state; of the sequences that have a step
    last_memory: Tensor | None  # batch hidden


def serve(
    recurrence: Recurrence,
    inputs: Gates,
    batch_sizes: Sequence[int],
    hidden: Tensor,
    memory: Tensor | None,
) -> Served | None:
    """Run the pass, or return None if it is not for this path."""
    sizes = np.array(batch_sizes, np.int64)
    if not serves(recurrence, inputs, sizes, hidden, memory):
        return None
    return _run(recurrence, inputs, sizes, hidden, memory)


def serves(
    recurrence: Recurrence, inputs: Gates, sizes: Any, hidden: Tensor, memory: Tensor | None
) -> bool:
    """Whether this pass is for the fused path."""
    return (
        enabled()
        and len(sizes) > 0
        and _fits(recurrence, inputs, hidden, memory)
        and _sound(recurrence, inputs, sizes, hidden, memory)
        and _ready()
    )


def _fits(recurrence: Recurrence, inputs: Gates, hidden: Tensor, memory: Tensor | None) -> bool:
    component = recurrence.component
    if type(recurrence.cell) not in CELLS or torch.compiler.is_compiling():
        return False
    tensors: list[Tensor | None] = [hidden, memory, recurrence.weight]
    if component is not None:
        if type(component.transition) not in TRANSITIONS:
            return False
        if type(component.similarity) not in SIMILARITIES:
            return False
        tensors.append(component.centroids)
    if isinstance(inputs, Projected):
        tensors += [inputs.x, inputs.weight]
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
    recurrence: Recurrence, inputs: Gates, sizes: Any, hidden: Tensor, memory: Tensor | None
) -> bool:
    """Whether every index stays in bounds; the plain loop words the error of those that do not."""
    batch, size = hidden.shape
    steps, width = int(sizes.sum()), recurrence.cell.gates * size
    if sizes[-1] < 1 or sizes[0] > batch or (np.diff(sizes) > 0).any():
        return False
    if memory is not None and memory.shape != hidden.shape:
        return False
    if recurrence.weight.shape != (width, size):
        return False
    if recurrence.component is not None and recurrence.component.centroids.shape[1] != size:
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
    kinds = (Tensor, torch.nn.Parameter)
    return type(tensor) in kinds and tensor.dtype == torch.float32 and tensor.device.type == "cpu"


@functools.cache
def _ready() -> bool:
    """Compile, or load what was compiled before; without Numba there is no fused path."""
    try:
        from kleene.nn.fused.compile import announced

        with announced():
            from kleene.nn.fused.warm import warm

            warm()
    except Exception as error:
        warnings.warn(f"the fused path is off, networks run slower: {error}", stacklevel=2)
        return False
    return True


def _run(
    recurrence: Recurrence,
    inputs: Gates,
    sizes: Any,
    hidden: Tensor,
    memory: Tensor | None,
) -> Served:
    from kleene.nn.fused.function import Fused

    settings, tensors = prepare(recurrence, inputs, sizes, hidden, memory)
    results = Fused.apply(settings, *tensors.values())  # type: ignore[no-untyped-call]
    return Served(**dict(zip(Served.__dataclass_fields__, results, strict=True)))


def prepare(
    recurrence: Recurrence,
    inputs: Gates,
    sizes: Any,
    hidden: Tensor,
    memory: Tensor | None,
) -> tuple[Settings, dict[str, Tensor | None]]:
    """What the fused node takes."""
    from kleene.nn.fused.function import TENSORS, Settings
    from kleene.nn.fused.plain import Plain

    cell, component, size = recurrence.cell, recurrence.component, hidden.shape[-1]
    steps = int(sizes.sum())
    tensors: dict[str, Tensor | None] = dict.fromkeys(TENSORS)
    if isinstance(inputs, Projected):
        tensors |= {"x": inputs.x, "W": inputs.weight, "bias": inputs.bias}
    elif isinstance(inputs, LookedUp):
        tensors |= {"ids": inputs.ids.long(), "X": inputs.table}
    else:
        tensors["X"] = inputs
    tensors["H0"] = _start(recurrence, hidden)
    tensors["c0"] = hidden.detach() if memory is None else memory
    if cell.has_memory:
        peephole = recurrence.peephole
        tensors["peephole"] = hidden.new_zeros(3, size) if peephole is None else peephole
    transition = None if component is None else component.transition
    if component is None:
        tensors |= {"M": recurrence.weight.T, "h_bias": recurrence.bias}
    else:
        tensors |= _component(recurrence, component, steps)
    hard = isinstance(transition, SoftArgmax) or (
        isinstance(transition, Gumbel) and transition.hard
    )
    return Settings(
        cell=_number(cell),
        hidden=size,
        states=0 if component is None else component.num_states,
        hard=hard,
        unit=component is not None and isinstance(component.similarity, Cosine),
        batch=hidden.shape[0],
        steps=steps,
        sizes=sizes,
        starts=sizes.cumsum() - sizes,
        plain=Plain(cell, transition),
    ), tensors


def mixed(weights: Tensor, centroids: Tensor) -> Tensor:
    """Hidden vectors from the weights of a pass that this path served."""
    from kleene.nn.fused.mix import Mix

    product: Tensor = Mix.apply(weights, centroids)  # type: ignore[no-untyped-call]
    return product


def _start(recurrence: Recurrence, hidden: Tensor) -> Tensor:
    """R h_0 + b for the first step, and h_0 where the cell reads it; one row stands for zeros."""
    if hidden.requires_grad or hidden.numpy().any():
        first = recurrence.gates(hidden)
    elif recurrence.bias is not None:
        first, hidden = recurrence.bias[None], hidden[:1]
    else:
        first, hidden = hidden.new_zeros(1, recurrence.weight.shape[0]), hidden[:1]
    return torch.cat([first, hidden], -1) if recurrence.cell.reads_hidden else first


def _component(
    recurrence: Recurrence, component: Component, steps: int
) -> dict[str, Tensor | None]:
    keys, offsets = component.similarity.keys(component.centroids)
    M = recurrence.gates(component.centroids)
    if recurrence.cell.reads_hidden:
        M = torch.cat([M, component.centroids], -1)
    return {
        "M": M,
        "keys": keys,
        "offsets": offsets,
        "noise": component.transition.draw(steps, len(keys), keys, component.stochastic),
        "inverse": component.temperature.reciprocal().reshape(1),
    }


def _number(cell: Any) -> int:
    from kleene.nn.fused import cells

    if isinstance(cell, Elman):
        return cells.ELMAN if cell.nonlinearity == "tanh" else cells.RELU
    if isinstance(cell, GRU):
        return cells.GRU
    return cells.PEEPHOLE if cell.peephole else cells.LSTM
