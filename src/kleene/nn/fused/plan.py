"""What a fused pass runs on: its tensors by name, and a `Plan` of everything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from kleene.nn.cells import GRU, LSTM, Cell, Elman
from kleene.nn.fused.kernels import records
from kleene.nn.fused.layout import Layout
from kleene.nn.fused.plain import Plain
from kleene.nn.inputs import Gates, LookedUp, Projected
from kleene.nn.recurrence import Recurrence
from kleene.nn.similarity import Cosine, Euclidean
from kleene.nn.transition import Gumbel, SoftArgmax

INPUTS = (
    "X", "ids", "x", "W", "bias", "hidden", "R", "h_bias", "S", "temperature", "noise",
    "peephole", "c0",
)  # fmt: skip
"""The tensors of a pass, in the order in which the node of torch's graph takes them."""
Tensors: TypeAlias = dict[str, Tensor | None]


class Plan(NamedTuple):
    """The shapes and options of a pass."""

    cell: int
    hidden: int
    states: int
    hard: bool
    normalised: bool  # cosine similarity: keys are the centroids' directions
    offset: bool  # Euclidean similarity: half the squared norms are subtracted from the scores
    batch: int
    layout: Layout
    from_zero: bool  # the initial hidden vectors are zero and need no gradient
    needs_grad: bool
    all_steps: bool  # memory and scores of all steps are results
    with_hidden: bool  # hidden vectors of all steps are results, as mixtures of the centroids
    plain: Callable[..., tuple[Tensor | None, ...]]  # the same pass by torch's operations

    @property
    def width(self) -> int:
        """Of the recurrent half of the gates, with the hidden vector where the cell reads it."""
        return self.hidden if self.cell < records.GRU else 4 * self.hidden

    @property
    def gates(self) -> int:
        """Of the input's half of the gates."""
        return 3 * self.hidden if self.cell == records.GRU else self.width


def make_plan(
    recurrence: Recurrence,
    inputs: Gates,
    rows: Layout,
    hidden: Tensor,
    memory: Tensor | None,
    all_steps: bool = True,
    with_hidden: bool = False,
) -> tuple[Plan, Tensors]:
    """The plan of a pass, and its tensors under the names of `INPUTS`."""
    component = recurrence.component
    tensors: Tensors = dict.fromkeys(INPUTS)
    tensors |= {"hidden": hidden, "c0": memory, "R": recurrence.weight, "h_bias": recurrence.bias}
    tensors["peephole"] = recurrence.peephole
    if isinstance(inputs, Projected):
        tensors |= {"x": inputs.x, "W": inputs.weight, "bias": inputs.bias}
    elif isinstance(inputs, LookedUp):
        tensors |= {"ids": inputs.ids.long(), "X": inputs.table}
    else:
        tensors["X"] = inputs
    states, transition, similarity = 0, None, None
    if component is not None:
        states, S = component.num_states, component.centroids
        transition, similarity = component.transition, component.similarity
        tensors |= {"S": S, "temperature": component.temperature}
        tensors["noise"] = transition.draw(rows.steps, states, S, component.stochastic)
    needs_grad = torch.is_grad_enabled() and any(
        tensor is not None and tensor.requires_grad for tensor in tensors.values()
    )
    plan = Plan(
        cell=_number(recurrence.cell),
        hidden=hidden.shape[1],
        states=states,
        hard=isinstance(transition, SoftArgmax)
        or (isinstance(transition, Gumbel) and transition.hard),
        normalised=isinstance(similarity, Cosine),
        offset=isinstance(similarity, Euclidean),
        batch=hidden.shape[0],
        layout=rows,
        from_zero=not (hidden.requires_grad or hidden.numpy().any()),
        needs_grad=needs_grad,
        all_steps=all_steps or needs_grad,
        with_hidden=with_hidden and component is not None,
        plain=Plain(recurrence),
    )
    return plan, tensors


def _number(cell: Cell) -> int:
    if isinstance(cell, Elman):
        return records.ELMAN if cell.nonlinearity == "tanh" else records.RELU
    if isinstance(cell, GRU):
        return records.GRU
    assert isinstance(cell, LSTM)
    return records.PEEPHOLE if cell.peephole else records.LSTM
