"""`Trace`: the record of one pass over a batch, which everything that reads a network takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from kleene.nn.recurrence import Scan
from kleene.nn.similarity import probabilities


@dataclass(frozen=True, kw_only=True)
class PackedOrder:
    """Where the rows of a packed layout belong in a padded batch."""

    lengths: Tensor  # batch; steps of each sequence, in the order of the input
    row: Tensor  # steps; the sequence of each packed row, sorted by length
    time: Tensor  # steps; its time step
    input_order: Tensor | None  # batch; positions of the input in the sorted order, None if equal

    @classmethod
    def of(
        cls, batch_sizes: Sequence[int], like: Tensor, input_order: Tensor | None
    ) -> PackedOrder:
        """The order of packed sequences; `like` has a row for every sequence."""
        sizes = torch.tensor([*batch_sizes], dtype=torch.int64, device=like.device)
        mask = sizes > torch.arange(len(like), device=like.device)[:, None]  # batch time
        time, row = mask.T.nonzero(as_tuple=True)
        lengths = mask.sum(1)
        lengths = lengths if input_order is None else lengths[input_order]
        return cls(lengths=lengths, row=row, time=time, input_order=input_order)

    def pad(self, values: Tensor, fill: float = 0) -> Tensor:
        """Packed values as a padded batch, (steps, ...) -> (batch, time, ...)."""
        steps = int(self.lengths.max()) if len(self.lengths) else 0
        padded = values.new_full((len(self.lengths), steps, *values.shape[1:]), fill)
        padded.index_put_((self.row, self.time), values)  # in place: no copy of the fresh tensor
        return padded if self.input_order is None else padded[self.input_order]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What a network did at every step.

    `scan` has the values of one layer packed, as they were computed; the properties have them as a
    padded batch, (batch, time, ...), in the order of the input, with zeros in the padding. They are
    those of the top layer; `layers` has one trace per layer, the lowest first, and the global state
    of a network is the tuple of its layers' states.
    """

    scan: Scan
    order: PackedOrder
    below: tuple[Trace, ...] = ()
    reverse: Trace | None = None
    """With `bidirectional`, what the cells did that read from right to left."""

    @property
    def lengths(self) -> Tensor:
        """Steps of each sequence, (batch,)."""
        return self.order.lengths

    @cached_property
    def hidden(self) -> Tensor:
        """Hidden vectors, (batch, time, hidden)."""
        return self.order.pad(self.scan.hidden)

    @cached_property
    def memory(self) -> Tensor | None:
        """Memories, (batch, time, hidden); None for cells without memory."""
        return None if self.scan.memory is None else self.order.pad(self.scan.memory)

    @cached_property
    def probs(self) -> Tensor | None:
        """Probabilities of the states, (batch, time, state); None without centroids."""
        if self.scan.scores is None or self.scan.temperature is None:
            return None
        return self.order.pad(probabilities(self.scan.scores, self.scan.temperature))

    @cached_property
    def weights(self) -> Tensor | None:
        """Weights of the centroids, (batch, time, state): `probs`, or one-hot in hard mode."""
        return None if self.scan.weights is None else self.order.pad(self.scan.weights)

    @cached_property
    def states(self) -> Tensor | None:
        """The state of highest weight, (batch, time), -1 in the padding; None without centroids."""
        weights = self.scan.weights
        return None if weights is None else self.order.pad(weights.argmax(-1), -1)

    @property
    def layers(self) -> tuple[Trace, ...]:
        """One trace per layer, the lowest first."""
        return (*self.below, self)

    @cached_property
    def mask(self) -> Tensor:
        """True at the steps that are not padding, (batch, time)."""
        steps = int(self.lengths.max()) if len(self.lengths) else 0
        return torch.arange(steps, device=self.lengths.device) < self.lengths[:, None]

    @property
    def global_states(self) -> Tensor:
        """States of all layers, (batch, time, layer)."""
        return torch.stack([layer.states for layer in self.layers if layer.states is not None], -1)


def make_trace(
    scans: Sequence[Scan], batch_sizes: Sequence[int], input_order: Tensor | None = None
) -> Trace:
    """The trace of the scans of all layers; `input_order` restores the order of the input."""
    order = PackedOrder.of(batch_sizes, scans[0].last_hidden, input_order)
    traces: list[Trace] = []
    for one in scans:
        one = replace(one, mixtures=one.hidden)  # computed now, from the weights of this pass
        traces.append(Trace(scan=one, order=order, below=tuple(traces)))
    return traces[-1]
