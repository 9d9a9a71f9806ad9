"""The only time loop: a cell, and its stochastic component, along packed sequences.

The recurrence runs in centroid space. Since h_{t-1} = w_{t-1} S, the recurrent product is
w_{t-1} (S R^T), with M = S R^T built once per pass; since the weights w sum to 1, the bias folds
into M; hidden vectors are computed only if somebody asks for them. This is exact algebra.

Sequences are packed as in torch's `PackedSequence`: sorted by length, step t holds the first
`batch_sizes[t]` of them, no masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from kleene.nn.cells import Cell
from kleene.nn.fused.dispatch import Served, serve
from kleene.nn.inputs import Gates, gates_of
from kleene.nn.similarity import Similarity
from kleene.nn.transition import Transition


@dataclass(frozen=True, kw_only=True)
class Component:
    """The stochastic component of one layer."""

    centroids: Tensor  # state hidden
    temperature: Tensor  # scalar
    similarity: Similarity
    transition: Transition
    stochastic: bool = False

    @property
    def num_states(self) -> int:
        """k of the paper."""
        return self.centroids.shape[0]


@dataclass(frozen=True, kw_only=True)
class Recurrence:
    """The recurrent weights of one layer, and its component where it has one."""

    cell: Cell
    weight: Tensor  # gates*hidden hidden
    bias: Tensor | None  # gates*hidden
    peephole: Tensor | None  # peepholes hidden
    component: Component | None

    def gates(self, hidden: Tensor) -> Tensor:
        """R h + b_hh, the textbook product."""
        return torch.nn.functional.linear(hidden, self.weight, self.bias)

    def end(
        self, x_gates: Tensor, hidden: Tensor, memory: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """One more cell application without the stochastic component: the end token's."""
        return self.cell.step(x_gates, self.gates(hidden), hidden, memory, self.peephole)


@dataclass(frozen=True, kw_only=True)
class Scan:
    """What a pass leaves behind; `steps` counts all time steps of all sequences."""

    carried: Tensor  # steps state; the hidden vectors themselves without a component
    centroids: Tensor | None  # state hidden
    last_hidden: Tensor  # batch hidden
    memory: Tensor | None  # steps hidden; may be missing unless a full scan was asked for
    last_memory: Tensor | None  # batch hidden
    scores: Tensor | None  # steps state; before the temperature; may be missing likewise
    mixed: Tensor | None = None  # steps hidden; the hidden vectors, where they came with the pass

    @property
    def weights(self) -> Tensor | None:
        """Weights of the centroids, (steps, state)."""
        return None if self.centroids is None else self.carried

    @cached_property
    def hidden(self) -> Tensor:
        """Hidden vectors of all steps, (steps, hidden)."""
        if self.mixed is not None:
            return self.mixed
        return self.carried if self.centroids is None else self.carried @ self.centroids


def scan(
    recurrence: Recurrence,
    inputs: Gates,  # steps gates*hidden
    batch_sizes: Sequence[int],
    hidden: Tensor,  # batch hidden
    memory: Tensor | None = None,  # batch hidden
    *,
    full: bool = True,
    mixed: bool = False,
) -> Scan:
    """Run the recurrence along time from the given hidden vectors and memory.

    Without `full`, memory and scores of the steps between may be missing from the result. `mixed`
    tells that the hidden vectors of all steps will be asked for, which is cheaper on the way.
    """
    served = serve(recurrence, inputs, batch_sizes, hidden, memory, full, mixed)
    if served is not None:
        return _from_served(served, recurrence.component, hidden)
    return loop(recurrence, inputs, batch_sizes, hidden, memory)


def loop(
    recurrence: Recurrence,
    inputs: Gates,
    batch_sizes: Sequence[int],
    hidden: Tensor,
    memory: Tensor | None,
) -> Scan:
    """The same by torch's own operations, on any device and of any type."""
    x_gates = gates_of(inputs)
    if recurrence.component is None:
        return _scan_plain(recurrence, x_gates, batch_sizes, hidden, memory)
    return _scan_states(recurrence, recurrence.component, x_gates, batch_sizes, hidden, memory)


def _scan_plain(
    recurrence: Recurrence,
    x_gates: Tensor,
    batch_sizes: Sequence[int],
    hidden: Tensor,
    memory: Tensor | None,
) -> Scan:
    """The textbook recurrence: h_t = u_t."""
    h, c, hiddens, memories, start = hidden, memory, [hidden[:0]], [], 0
    for n in batch_sizes:
        x, h, c = x_gates[start : start + n], h[:n], None if c is None else c[:n]
        h, c = recurrence.cell.step(x, recurrence.gates(h), h, c, recurrence.peephole)
        hiddens.append(h)
        if c is not None:
            memories.append(c)
        start += n
    last = last_steps(batch_sizes, hidden.device)
    return Scan(
        carried=(all_hidden := torch.cat(hiddens)),
        centroids=None,
        last_hidden=_last(all_hidden, last, hidden),
        memory=(all_memory := None if memory is None else torch.cat([memory[:0], *memories])),
        last_memory=None if memory is None else _last(all_memory, last, memory),
        scores=None,
    )


def _scan_states(
    recurrence: Recurrence,
    component: Component,
    x_gates: Tensor,
    batch_sizes: Sequence[int],
    hidden: Tensor,
    memory: Tensor | None,
) -> Scan:
    """The recurrence in centroid space: what is carried are the weights of the centroids."""
    cell, size = recurrence.cell, hidden.shape[-1]
    centroids, similarity, transition = (
        component.centroids,
        component.similarity,
        component.transition,
    )
    keys, offsets = similarity.keys(centroids)
    M = recurrence.gates(centroids)  # state gates*hidden: S R^T + b
    if cell.reads_hidden:
        M = torch.cat([M, centroids], -1)
    steps, states = x_gates.shape[0], component.num_states
    noise = transition.draw(steps, states, x_gates, component.stochastic)

    c, w = memory, None
    all_weights, all_scores, memories, start = [M.new_empty(0, states)], [], [], 0
    for n in batch_sizes:
        c = None if c is None else c[:n]
        if w is None:  # the first step starts from any vectors, not from a mixture
            h = hidden[:n]
            h_gates = recurrence.gates(h)
        else:
            h_gates = h = w[:n] @ M
            if cell.reads_hidden:
                h_gates, h = h_gates[:, :-size], h_gates[:, -size:]
        u, c = cell.step(x_gates[start : start + n], h_gates, h, c, recurrence.peephole)
        score = similarity.query(u) @ keys.T
        if offsets is not None:
            score = score + offsets
        w = transition(
            score, component.temperature, None if noise is None else noise[start : start + n]
        )
        all_weights.append(w)
        all_scores.append(score)
        if c is not None:
            memories.append(c)
        start += n

    weights = torch.cat(all_weights)
    last = last_steps(batch_sizes, hidden.device)
    all_memory = None if memory is None else torch.cat([memory[:0], *memories])
    return Scan(
        carried=weights,
        centroids=centroids,
        last_hidden=torch.cat([weights[last] @ centroids, hidden[len(last) :]]),
        memory=all_memory,
        last_memory=None if memory is None else _last(all_memory, last, memory),
        scores=torch.cat(all_scores) if all_scores else weights,
    )


def _from_served(served: Served, component: Component | None, hidden: Tensor) -> Scan:
    """The results of the fused pass."""
    last = served.last_carried if served.last_hidden is None else served.last_hidden
    if component is not None and served.last_hidden is None:
        last = last @ component.centroids
    if len(last) < len(hidden):
        last = torch.cat([last, hidden[len(last) :]])
    return Scan(
        carried=served.carried,
        centroids=None if component is None else component.centroids,
        last_hidden=last,
        memory=served.memory,
        last_memory=served.last_memory,
        scores=served.scores,
        mixed=served.hidden,
    )


def last_steps(batch_sizes: Sequence[int], device: torch.device | None = None) -> Tensor:
    """Where the last step of each sequence of at least one step stands in the packed layout."""
    sizes = torch.tensor([*batch_sizes, 0])
    ends = sizes[:-1] - sizes[1:]  # how many sequences end at each step
    starts = sizes.cumsum(0)[:-1] - sizes[:-1]
    times = torch.repeat_interleave(torch.arange(len(ends)), ends).flip(0)
    return (starts[times] + torch.arange(len(times))).to(device)


def _last(values: Tensor | None, last: Tensor, initial: Tensor) -> Tensor:
    """The value after the last step; sequences of no steps keep what they came with."""
    assert values is not None
    return torch.cat([values[last], initial[len(last) :]])
