"""The records around a pass: inputs, weights, and the `Scan` that it returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import embedding, linear

from kleene.nn.cells import Cell
from kleene.nn.similarity import Similarity
from kleene.nn.transition import Transition


class Projected(NamedTuple):
    """Vectors, and the weights that multiply them: W x + b, not yet computed.

    The fused path computes it inside its loop and never builds all of it.
    """

    x: Tensor  # steps input
    weight: Tensor  # gates*hidden input
    bias: Tensor | None  # gates*hidden

    def gates(self) -> Tensor:
        return linear(self.x, self.weight, self.bias)


class LookedUp(NamedTuple):
    """Ids of symbols, and a table of the gates of every symbol."""

    ids: Tensor  # steps
    table: Tensor  # symbol gates*hidden

    def gates(self) -> Tensor:
        return embedding(self.ids, self.table)


Gates: TypeAlias = Tensor | Projected | LookedUp


def gates_of(inputs: Gates) -> Tensor:
    return inputs if isinstance(inputs, Tensor) else inputs.gates()


class Component(NamedTuple):
    """The stochastic component of one layer."""

    centroids: Tensor  # state hidden
    temperature: Tensor  # scalar
    similarity: Similarity
    transition: Transition
    noise: bool = False  # whether the transition draws noise
    blend: float | None = None  # see `Mode`

    @property
    def num_states(self) -> int:
        return self.centroids.shape[0]


class Recurrence(NamedTuple):
    """The recurrent weights of one layer, and its component where it has one."""

    cell: Cell
    weight: Tensor  # gates*hidden hidden
    bias: Tensor | None  # gates*hidden
    peephole: Tensor | None  # peepholes hidden
    component: Component | None
    hidden_noise: float = 0.0  # see `Mode`

    @property
    def blend(self) -> float | None:
        """The share of the mixture in the hidden vectors that are carried on; None without a
        component, and where weights of the centroids are carried on in their place."""
        blend = None if self.component is None else self.component.blend
        return 1.0 if self.component and self.hidden_noise and blend is None else blend

    def draw_noise(self, steps: int, like: Tensor) -> Tensor | None:
        """The noise on the hidden vectors of a whole pass, (steps, hidden)."""
        if not self.hidden_noise:
            return None
        return self.hidden_noise * like.new_empty(steps, like.shape[-1]).normal_()

    def gates(self, hidden: Tensor) -> Tensor:
        """R h + b_hh, the textbook product."""
        return linear(hidden, self.weight, self.bias)

    def half(self, hidden: Tensor) -> Tensor:
        """The same, with h itself where the cell reads it."""
        gates = self.gates(hidden)
        return torch.cat([gates, hidden], -1) if self.cell.reads_hidden else gates

    def end(
        self, x_gates: Tensor, hidden: Tensor, memory: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """One more cell application without the stochastic component: the end token's."""
        return self.cell.step(x_gates, self.gates(hidden), hidden, memory, self.peephole)


def commitment(u: Tensor, mixtures: Tensor) -> Tensor:
    """Mean |u_t - alpha_t S|^2 of all steps."""
    return (u - mixtures).square().sum() / max(len(u), 1)


@dataclass(frozen=True, kw_only=True)
class Scan:
    """The results of a pass of one layer, packed; `steps` counts the steps of all sequences."""

    carried: Tensor  # steps state; the hidden vectors themselves without a component
    centroids: Tensor | None  # state hidden
    last_hidden: Tensor  # batch hidden
    memory: Tensor | None  # steps hidden
    last_memory: Tensor | None  # batch hidden
    scores: Tensor | None  # steps state; before the temperature
    temperature: Tensor | None = None  # scalar; None without centroids
    mixtures: Tensor | None = None  # steps hidden; the hidden vectors, if the pass computed them
    commitment: Tensor | None = None  # scalar; mean |u_t - alpha_t S|^2 of all steps, with a blend

    @property
    def weights(self) -> Tensor | None:
        """Weights of the centroids, (steps, state)."""
        return None if self.centroids is None else self.carried

    def reordered(self, rows: Tensor) -> Scan:
        """The same with its steps in another order."""
        names = ("carried", "memory", "scores", "mixtures")
        steps = {name: getattr(self, name) for name in names}
        return replace(self, **{name: s[rows] for name, s in steps.items() if s is not None})

    @property
    def hidden(self) -> Tensor:
        """Hidden vectors of all steps, (steps, hidden)."""
        if self.mixtures is not None:
            return self.mixtures
        return self.carried if self.centroids is None else self.carried @ self.centroids
