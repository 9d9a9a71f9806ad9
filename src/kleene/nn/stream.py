"""Run a network one symbol at a time."""

from __future__ import annotations

import torch
from torch import Tensor

from kleene.errors import SettingError
from kleene.nn.mode import Mode
from kleene.nn.recurrence import Gates, LookedUp
from kleene.nn.scan import loop
from kleene.nn.state_regularized import StateRegularized


class Stream:
    """Runs a trained network one step at a time, without gradients.

    With `embedding`, (symbol, input_size), the stream reads the ids of symbols instead of vectors;
    their gates are computed once, from the weights of the network when the stream is made.

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
        if network.bidirectional:
            raise SettingError(
                "a stream reads from left to right; the network must not be bidirectional"
            )
        if batch < 1:
            raise SettingError(f"batch must be at least 1, got {batch}")
        self.network, self.batch = network, batch
        with torch.no_grad():
            self._table = None if embedding is None else network.project(embedding).clone()
            quiet, layers = Mode(noise=False), range(network.num_layers)
            self._recurrences = [network.recurrence(layer, quiet) for layer in layers]
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
        self._weights: Tensor | None = None  # of the top layer

    @property
    def states(self) -> Tensor:
        """The state of the top layer after the last step, (batch,)."""
        return self.weights.argmax(-1)

    @property
    def weights(self) -> Tensor:
        """The weights of the top layer's states after the last step, (batch, state)."""
        if self._weights is None:
            raise SettingError(
                "a stream has states after its first `step`, if its network has centroids"
            )
        return self._weights

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
        for layer, recurrence in enumerate(self._recurrences):
            inputs: Gates = self.network.inputs(x, layer)
            if layer == 0 and self._table is not None:
                inputs = LookedUp(ids=x, table=self._table)
            hidden, memory = self.hidden[layer], self.memory[layer]
            found = loop(recurrence, inputs, [self.batch], hidden, memory)
            x = self.hidden[layer] = found.last_hidden
            self.memory[layer], self._weights = found.last_memory, found.weights
        return x
