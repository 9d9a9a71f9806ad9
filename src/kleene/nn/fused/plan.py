"""What a fused pass runs on: its tensors by name, and a `Plan` of everything else."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, TypeAlias

import torch
from torch import Tensor

from kleene.nn.cells import GRU, LSTM, Cell, Elman
from kleene.nn.fused.buffers import Sections
from kleene.nn.fused.kernels import records
from kleene.nn.fused.kernels.records import (
    FEW_ROWS,
    LANES,
    ForwardBuffers,
    Job,
    Weights,
    blank,
    place,
)
from kleene.nn.fused.layout import Layout
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


@dataclass(frozen=True, eq=False)
class Plan:
    """The shapes and options of a pass; made once for all passes that share them."""

    cell: int
    hidden: int
    states: int
    hard: bool
    normalised: bool  # cosine similarity: keys are the centroids' directions
    offset: bool  # Euclidean similarity: half the squared norms are subtracted from the scores
    batch: int
    layout: Layout
    size: int  # of an input vector; 0 where none is multiplied
    has_bias: bool  # a bias is folded into M and H0
    from_zero: bool  # the initial hidden vectors are zero and need no gradient
    needs_grad: bool
    all_steps: bool  # memory and scores of all steps are results
    with_hidden: bool  # hidden vectors of all steps are results, as mixtures of the centroids

    @cached_property
    def two_steps(self) -> bool:
        """Whether memory and scores are kept for two steps only."""
        return not (self.all_steps or self.needs_grad)

    @cached_property
    def width(self) -> int:
        """Of the recurrent half of the gates, with the hidden vector where the cell reads it."""
        return self.hidden if self.cell < records.GRU else 4 * self.hidden

    @cached_property
    def gates(self) -> int:
        """Of the input's half of the gates."""
        return 3 * self.hidden if self.cell == records.GRU else self.width

    @cached_property
    def starts(self) -> int:
        """Rows of `H0`: all sequences that start from zero share one."""
        return 1 if self.from_zero else self.batch

    @cached_property
    def arguments(self) -> array[int]:
        """Those of a call that are the same in every pass."""
        from kleene.nn.fused.kernels.blas import sgemm_address

        sizes, starts = self.layout.addresses
        constants = {
            "sgemm": sgemm_address(),
            "cell": self.cell,
            "hard": int(self.hard),
            "normalised": int(self.normalised),
            "time": self.layout.time,
            "batch": self.batch,
            "hidden": self.hidden,
            "states": self.states,
            "gates": self.gates,
            "width": self.width,
            "columns": self.width if self.states else self.gates,
            "size": self.size,
            "few": int(self.few),
            "shared_start": int(self.from_zero),
            "two_steps": int(self.two_steps),
            "sizes": sizes,
            "starts": starts,
        }
        call = blank()
        for name, value in constants.items():
            call[place(Job, name)] = value
        return call

    @cached_property
    def input_places(self) -> dict[str, int]:
        """Where in a call the addresses of the tensors belong."""
        read_by_fold = ("R", "hidden", "h_bias")
        places = {n: place(Weights if n in read_by_fold else Job, n) for n in INPUTS}
        if self.cell != records.GRU:
            places["bias"] = place(Weights, "x_bias")
        return places

    @cached_property
    def folding(self) -> tuple[int, ...]:
        """What decides, beside the weights, what `fold` makes of them."""
        kinds = (self.normalised, self.offset, self.few)
        return (self.cell, self.hidden, self.states, self.size, *kinds)

    @cached_property
    def few(self) -> bool:
        """Whether the input's weights are packed when the others are folded, and kept with them.

        Packing them in every pass, as for larger batches, takes longer than it saves.
        """
        kept = self.from_zero and not self.needs_grad
        return kept and self.batch <= FEW_ROWS and self.size * self.gates < 1 << 19

    @cached_property
    def folded(self) -> Sections:
        """What `fold` makes of the weights."""
        k, d = self.states, self.hidden
        return Sections(
            Job,
            {
                "H0": self.width * self.starts,
                "M": k * self.width if k else d * self.gates,
                "h_bias": self.gates if self.has_bias else 0,
                "keys": k * d if self.normalised else 0,
                "offsets": k if self.offset else 0,
                "peephole": 3 * d if self.cell == records.LSTM else 0,
                "W_panels": self.size * (self.gates + -self.gates % LANES) if self.few else 0,
            },
        )

    @cached_property
    def inner(self) -> Sections:
        """What the forward pass writes beside its results; gates and the like for the backward."""
        k, d, steps, keep = self.states, self.hidden, self.layout.steps, self.needs_grad
        rows = 0 if self.all_steps else 2 * self.batch if self.two_steps else steps
        return Sections(
            ForwardBuffers,
            {
                "scores": rows * k,
                "memory": rows * d if self.cell >= records.LSTM else 0,
                "last_weights": self.layout.widest * k,
                "G": steps * self.width if keep else 0,
                "N": steps * d if keep and self.cell == records.GRU else 0,
                "Q": steps * d if keep and self.normalised else 0,
                "norms": steps if keep and self.normalised else 0,
                "soft": steps * k if keep and self.hard else 0,
            },
        )


_plan = lru_cache(maxsize=256)(Plan)


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
    tensors["hidden"], tensors["c0"] = hidden, memory
    tensors["R"], tensors["h_bias"] = recurrence.weight, recurrence.bias
    tensors["peephole"] = recurrence.peephole
    size = 0
    if isinstance(inputs, Projected):
        tensors["x"], tensors["W"], tensors["bias"] = inputs.x, inputs.weight, inputs.bias
        size = inputs.x.shape[1]
    elif isinstance(inputs, LookedUp):
        tensors["ids"], tensors["X"] = inputs.ids.long(), inputs.table
    else:
        tensors["X"] = inputs
    states, transition, similarity = 0, None, None
    if component is not None:
        states, S = component.num_states, component.centroids
        transition, similarity = component.transition, component.similarity
        tensors["S"], tensors["temperature"] = S, component.temperature
        tensors["noise"] = transition.draw(rows.steps, states, S, component.noise)
    cell = _number(recurrence.cell)
    biases = ("h_bias",) if cell == records.GRU else ("h_bias", "bias")
    plan = _plan(
        cell,
        hidden.shape[1],
        states,
        isinstance(transition, SoftArgmax) or (isinstance(transition, Gumbel) and transition.hard),
        isinstance(similarity, Cosine),
        isinstance(similarity, Euclidean),
        hidden.shape[0],
        rows,
        size,
        any(tensors[name] is not None for name in biases),
        not hidden.requires_grad and _is_zero(hidden),
        torch.is_grad_enabled() and any(t.requires_grad for t in tensors.values() if t is not None),
        all_steps,
        with_hidden and component is not None,
    )
    return plan, tensors


def _is_zero(tensor: Tensor) -> bool:
    values = tensor.contiguous()
    return bool(_compiled_is_zero()(values.data_ptr(), values.numel()))


@cache
def _compiled_is_zero() -> Any:
    """It is imported late, since Numba is."""
    from kleene.nn.fused.kernels.rows import is_zero

    return is_zero


def _number(cell: Cell) -> int:
    if isinstance(cell, Elman):
        return records.ELMAN if cell.nonlinearity == "tanh" else records.RELU
    if isinstance(cell, GRU):
        return records.GRU
    assert isinstance(cell, LSTM)
    return records.PEEPHOLE if cell.peephole else records.LSTM
