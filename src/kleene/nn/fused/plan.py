"""What a fused pass runs on: its tensors by name, and a `Plan` of everything else."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from kleene.nn.cells import GRU, Cell, Elman
from kleene.nn.fused.library import SOURCES, sgemm_address
from kleene.nn.recurrence import Gates, LookedUp, Projected, Recurrence
from kleene.nn.similarity import Cosine
from kleene.nn.transition import Gumbel, SoftArgmax

INPUTS = (
    "X", "ids", "x", "W", "bias", "H0", "M", "h_bias", "S", "keys", "offsets", "temperature",
    "noise", "blend", "hidden_noise", "peephole", "c0",
)  # fmt: skip
"""The tensors of a pass, in the order in which the node of torch's graph takes them."""
Tensors: TypeAlias = dict[str, Tensor | None]


def _names() -> list[str]:
    """The arguments of a kernel, as `kernels/call.h` declares them: `job.X` is the field X of the
    record `job`."""
    text = re.sub(r"//.*", "", (SOURCES / "call.h").read_text(encoding="utf-8"))
    fields = {
        kind: re.findall(r"(\w+);", body)
        for kind, body in re.findall(r"^struct (\w+) \{(.*?)^\};", text, re.MULTILINE | re.DOTALL)
    }
    records = re.findall(r"struct (\w+) (\w+);", text)
    return [f"{record}.{name}" for kind, record in records for name in fields[kind]]


PLACES = {name: i for i, name in enumerate(_names())}
"""The place of every argument in the array of integers that a kernel takes."""
JOB = 8 * PLACES["job.sgemm"]
"""Bytes before the record `job`."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The packed layout of a batch: step t holds the first `sizes[t]` sequences."""

    sizes: Any  # NumPy, int64; time
    starts: Any  # NumPy, int64; time; the row of each step's first sequence
    steps: int  # rows in all
    widest: int  # sequences with at least one step
    valid: bool  # sizes do not increase and are at least 1


@lru_cache(maxsize=64)
def layout(batch_sizes: tuple[int, ...]) -> Layout:
    """The layout of the given numbers of sequences per time step."""
    sizes = np.array(batch_sizes, np.int64)
    return Layout(
        sizes=sizes,
        starts=sizes.cumsum() - sizes,
        steps=int(sizes.sum()),
        widest=int(sizes[0]) if len(sizes) else 0,
        valid=bool(len(sizes) and sizes[-1] >= 1 and (sizes[1:] <= sizes[:-1]).all()),
    )


@dataclass(frozen=True, eq=False)
class Plan:
    """The shapes and options of a pass; made once for all passes that share them."""

    cell: str  # the name of its kernels
    hidden: int
    states: int
    hard: bool
    normalised: bool  # cosine similarity: keys are the centroids' directions
    batch: int
    layout: Layout
    size: int  # of an input vector; 0 where none is multiplied
    shared_start: bool  # the initial hidden vectors are zero and need no gradient
    needs_grad: bool
    with_hidden: bool  # mixtures of the centroids of all steps are results
    blended: bool  # hidden vectors are carried on, in part mixtures

    @cached_property
    def width(self) -> int:
        """Width of the recurrent half of the gates, with the hidden vector if it is read."""
        return self.hidden * (4 if self.cell in ("gru", "lstm") else 1)

    @cached_property
    def gates(self) -> int:
        """Width of the input's half of the gates."""
        return 3 * self.hidden if self.cell == "gru" else self.width

    @property
    def carries_weights(self) -> bool:
        """Whether a step hands weights of the centroids to the next; otherwise hidden vectors."""
        return self.states > 0 and not self.blended

    @cached_property
    def arguments(self) -> array[int]:
        """Arguments shared by all passes of a plan."""
        call = array("q", bytes(8 * len(PLACES)))
        for name, value in {
            "sgemm": sgemm_address(),
            "hard": self.hard,
            "normalised": self.normalised,
            "time": len(self.layout.sizes),
            "batch": self.batch,
            "hidden": self.hidden,
            "states": self.states,
            "gates": self.gates,
            "width": self.width,
            "columns": self.width if self.carries_weights else self.gates,
            "size": self.size,
            "shared_start": self.shared_start,
            "sizes": self.layout.sizes.ctypes.data,
            "starts": self.layout.starts.ctypes.data,
        }.items():
            call[PLACES[f"job.{name}"]] = int(value)
        return call

    @cached_property
    def inner(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what the forward pass writes only for the backward pass."""
        k, d, steps = self.states, self.hidden, self.layout.steps
        shapes = {
            "G": (steps, self.width),
            "N": (steps, d if self.cell == "gru" else 0),
            "Q": (steps, d if self.normalised else 0),
            "norms": (steps if self.normalised else 0,),
            "soft": (steps, k if self.hard else 0),
        }
        return {name: shape for name, shape in shapes.items() if self.needs_grad and all(shape)}


_plan = lru_cache(maxsize=256)(Plan)


def make_plan(
    recurrence: Recurrence,
    inputs: Gates,
    rows: Layout,
    hidden: Tensor,
    memory: Tensor | None,
    with_hidden: bool = False,
) -> tuple[Plan, Tensors]:
    """The plan of a pass, and its tensors under the names of `INPUTS`."""
    component, cell = recurrence.component, kernels_of(recurrence.cell)
    tensors: Tensors = dict.fromkeys(INPUTS)
    bias, size = recurrence.bias, 0
    if isinstance(inputs, Projected):
        tensors["x"], tensors["W"], size = inputs.x, inputs.weight, inputs.x.shape[1]
        if cell == "gru" or bias is None:  # elsewhere both biases are added to the same sum
            tensors["bias"] = inputs.bias
        elif inputs.bias is not None:
            bias = bias + inputs.bias
    elif isinstance(inputs, LookedUp):
        tensors["ids"], tensors["X"] = inputs.ids.long(), inputs.table
    else:
        tensors["X"] = inputs
    shared = not hidden.requires_grad and not bool(hidden.any())
    tensors["H0"] = _start(recurrence, bias, hidden, shared)
    tensors["c0"], tensors["peephole"] = memory, recurrence.peephole
    if cell == "lstm" and recurrence.peephole is None:
        tensors["peephole"] = hidden.new_zeros(3, hidden.shape[1])
    states, transition, similarity = 0, None, None
    blend = recurrence.blend
    if component is None or blend is not None:
        tensors["M"], tensors["h_bias"] = recurrence.weight.T, bias
    if component is not None:
        states, S = component.num_states, component.centroids
        transition, similarity = component.transition, component.similarity
        tensors["S"], tensors["temperature"] = S, component.temperature
        if blend is not None:
            tensors["blend"] = S.new_tensor(blend)
        else:
            tensors["M"] = recurrence._replace(bias=bias).half(S)  # S R^T + b
        keys, tensors["offsets"] = similarity.keys(S)
        tensors["keys"] = None if keys is S else keys
        tensors["noise"] = transition.draw(rows.steps, states, S, component.noise)
    tensors["hidden_noise"] = recurrence.draw_noise(rows.steps, hidden)
    plan = _plan(
        cell,
        hidden.shape[1],
        states,
        isinstance(transition, SoftArgmax) or (isinstance(transition, Gumbel) and transition.hard),
        isinstance(similarity, Cosine),
        hidden.shape[0],
        rows,
        size,
        shared,
        torch.is_grad_enabled() and any(t.requires_grad for t in tensors.values() if t is not None),
        (with_hidden and component is not None) or blend is not None,
        blend is not None,
    )
    return plan, tensors


def kernels_of(cell: Cell) -> str:
    """The name of a cell's kernels."""
    if isinstance(cell, Elman):
        return "elman" if cell.nonlinearity == "tanh" else "relu"
    return "gru" if isinstance(cell, GRU) else "lstm"


def _start(recurrence: Recurrence, bias: Tensor | None, hidden: Tensor, shared: bool) -> Tensor:
    """The recurrent half of the first step, R h + b; one row where all start from zero."""
    reads, size = recurrence.cell.reads_hidden, hidden.shape[1]
    if not shared:
        return recurrence._replace(bias=bias).half(hidden)
    if bias is None:
        return hidden.new_zeros(1, len(recurrence.weight) + size * reads)
    return pad(bias, (0, size))[None] if reads else bias[None]
