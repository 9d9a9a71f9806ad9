"""Run a network one symbol at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from kleene.errors import SettingError
from kleene.nn.fused.dispatch import supports
from kleene.nn.fused.layout import layout
from kleene.nn.inputs import LookedUp, Projected
from kleene.nn.recurrence import Recurrence
from kleene.nn.scan import scan
from kleene.nn.state_regularized import StateRegularized

if TYPE_CHECKING:
    from kleene.nn.fused.stepper import Stepper


class Stream:
    """Runs a trained network one step at a time, without gradients.

    The weights are those of the network when the stream is made: what depends on them alone is
    computed once, and a step costs one small product per weight. With `embedding`,
    (symbol, input_size), the stream reads the ids of symbols instead of vectors.

    >>> import torch
    >>> from kleene.nn import SRGRU, Stream
    >>> stream = Stream(SRGRU(3, 8, num_states=4))
    >>> stream.step(torch.zeros(1, 3)).shape
    torch.Size([1, 8])
    >>> stream.states.shape
    torch.Size([1])
    """

    def __init__(
        self, network: StateRegularized, batch: int = 1, embedding: Tensor | None = None
    ) -> None:
        if batch < 1:
            raise SettingError(f"batch must be at least 1, got {batch}")
        self.network, self.batch = network, batch
        with torch.no_grad():
            self._table = None if embedding is None else network.project(embedding).clone()
            self._recurrences = [_without_noise(network, i) for i in range(network.num_layers)]
        self.reset()

    @torch.no_grad()
    def reset(self) -> None:
        """Go back to the start: zero hidden vectors and memory."""
        zeros = self.network.zeros(self.batch)
        layers = range(self.network.num_layers)
        self.hidden: list[Tensor] = [zeros for _ in layers]
        self.memory: list[Tensor | None] = [
            zeros if self.network.cell.has_memory else None for _ in layers
        ]
        self._scores: list[Tensor | None] = [None for _ in layers]
        self._carried: list[Tensor | None] = [None for _ in layers]
        self._layers: list[Stepper | None] = [self._layer(i, zeros) for i in layers]

    @property
    def states(self) -> Tensor:
        """The state of the top layer after the last step, (batch,)."""
        return self.weights.argmax(-1)

    @property
    def weights(self) -> Tensor:
        """The weights of the top layer's states after the last step, (batch, state)."""
        if self._carried[-1] is None:
            raise SettingError(
                "a stream has states after its first `step`, if its network has centroids"
            )
        return self._carried[-1].clone()  # the next step writes over it

    @torch.no_grad()
    def step(self, x: Tensor) -> Tensor:
        """Read one vector, (batch, input_size), or one symbol, (batch,), of every sequence.

        Returns the top layer's hidden vectors, (batch, hidden).
        """
        wanted = (self.batch,) if self._table is not None else (self.batch, self.network.input_size)
        if tuple(x.shape) != wanted:
            raise SettingError(
                f"input must have shape {wanted}, got {tuple(x.shape)}; give one row per sequence"
            )
        if self._table is not None and not 0 <= int(x.min()) <= int(x.max()) < len(self._table):
            raise SettingError(
                f"ids must be from 0 to {len(self._table) - 1}, the rows of the embedding, "
                f"got {x.tolist()}"
            )
        for layer in range(len(self._layers)):
            x = self._step(layer, x)
        return x

    def _step(self, layer: int, x: Tensor) -> Tensor:
        stepper, recurrence = self._layers[layer], self._recurrences[layer]
        if stepper is None:
            inputs = self._inputs(layer, x)
            found = scan(recurrence, inputs, [self.batch], self.hidden[layer], self.memory[layer])
            self.hidden[layer], self.memory[layer] = found.last_hidden, found.last_memory
            self._carried[layer], self._scores[layer] = found.weights, found.scores
            return found.last_hidden
        hidden, self._carried[layer], self._scores[layer], self.memory[layer] = stepper.step(x)
        self.hidden[layer] = hidden
        return hidden

    def _inputs(self, layer: int, x: Tensor) -> Projected | LookedUp:
        if layer == 0 and self._table is not None:
            return LookedUp(ids=x, table=self._table)
        return self.network.inputs(x, layer)

    def _layer(self, layer: int, zeros: Tensor) -> Stepper | None:
        """The compiled form of a layer, or None where the plain loop runs it."""
        recurrence = self._recurrences[layer]
        if layer == 0 and self._table is not None:
            x = torch.zeros(2 * self.batch, dtype=torch.int64)
        else:
            size = self.network.hidden_size if layer else self.network.input_size
            x = zeros.new_zeros(2 * self.batch, size)
        inputs, memory = self._inputs(layer, x), self.memory[layer]
        rows = layout((self.batch, self.batch))
        if not supports(recurrence, inputs, rows, zeros, memory):
            return None
        from kleene.nn.fused.stepper import Stepper

        return Stepper(recurrence, inputs, zeros)


def _without_noise(network: StateRegularized, layer: int) -> Recurrence:
    """The recurrence of a layer, without noise."""
    recurrence = network.recurrence(layer)
    if recurrence.component is None:
        return recurrence
    return recurrence._replace(component=recurrence.component._replace(noise=False))
