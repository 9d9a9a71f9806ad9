"""`Trace`: the record of one pass over a batch, which everything that reads a network takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kleene.nn.recurrence import Component, Scan
from kleene.nn.similarity import probabilities


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What a network did at every step; shorter sequences are padded with zeros.

    The fields are those of the top layer; `layers` has one trace per layer, the lowest first, and
    the global state of a network is the tuple of its layers' states.
    """

    lengths: Tensor  # batch; steps of each word
    hidden: Tensor  # batch time hidden
    memory: Tensor | None  # batch time hidden; None for cells without memory
    probs: Tensor | None  # batch time state; None for networks without centroids
    states: Tensor | None  # batch time; the state of highest weight, -1 in the padding
    weights: Tensor | None = None  # batch time state; of the centroids: probs, or one state's 1
    below: tuple[Trace, ...] = ()

    @property
    def layers(self) -> tuple[Trace, ...]:
        """One trace per layer, the lowest first."""
        return (*self.below, self)

    @property
    def mask(self) -> Tensor:
        """True at the steps that are not padding, (batch, time)."""
        time = torch.arange(self.hidden.shape[1], device=self.lengths.device)
        return time < self.lengths[:, None]

    @property
    def global_states(self) -> Tensor:
        """States of all layers, (batch, time, layer)."""
        return torch.stack([layer.states for layer in self.layers if layer.states is not None], -1)


def make_trace(
    scans: Sequence[Scan],
    components: Sequence[Component | None],
    batch_sizes: Sequence[int],
    order: Tensor | None = None,
) -> Trace:
    """Pad the scans of all layers; `order` restores the order of the input."""
    batch, device = len(scans[0].last_hidden), scans[0].last_hidden.device
    sizes = torch.tensor([*batch_sizes], dtype=torch.int64, device=device)
    rows = torch.arange(batch, device=device) if order is None else order
    mask = sizes > torch.arange(batch, device=device)[:, None]  # batch time
    time, row = mask.T.nonzero(as_tuple=True)  # of every step in the packed layout

    def pad(values: Tensor, fill: float = 0) -> Tensor:
        padded = values.new_full((batch, len(sizes), *values.shape[1:]), fill)
        padded.index_put_((row, time), values)  # in place: no copy of the fresh tensor
        return padded if order is None else padded[order]

    traces: list[Trace] = []
    for one, component in zip(scans, components, strict=True):
        probs = states = weights = None
        if component is not None and one.scores is not None and one.weights is not None:
            probs = pad(probabilities(one.scores, component.temperature))
            states = pad(one.weights.argmax(-1), -1)
            weights = pad(one.weights)
        traces.append(
            Trace(
                lengths=mask.sum(1)[rows],
                hidden=pad(one.hidden),
                memory=None if one.memory is None else pad(one.memory),
                probs=probs,
                states=states,
                weights=weights,
                below=tuple(traces),
            )
        )
    return traces[-1]
