"""`scan`: a cell, and its stochastic component, along packed sequences.

The recurrence runs in centroid space. Since h_{t-1} = w_{t-1} S, the recurrent product is
w_{t-1} (S R^T), with M = S R^T built once per pass; since the weights w sum to 1, the bias folds
into M; hidden vectors are computed only on request. This is exact algebra.

Sequences are packed as in torch's `PackedSequence`: sorted by length, step t holds the first
`batch_sizes[t]` of them, no masks.

The plain loop here, by torch's operations, runs on any device, in any float type, with any cell,
transition and similarity; `fused` runs what it supports, with the same results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor

from kleene.nn.fused.dispatch import dispatch
from kleene.nn.recurrence import Component, Gates, Recurrence, Scan, commitment, gates_of


def scan(
    recurrence: Recurrence,
    inputs: Gates,  # steps gates*hidden
    batch_sizes: Sequence[int],
    hidden: Tensor,  # batch hidden
    memory: Tensor | None = None,  # batch hidden
    *,
    with_hidden: bool = False,
) -> Scan:
    """Run the recurrence along time from the given hidden vectors and memory.

    `with_hidden` announces that the hidden vectors of all steps will be used, which makes them
    cheaper.
    """
    found = dispatch(recurrence, inputs, batch_sizes, hidden, memory, with_hidden)
    return found if found is not None else loop(recurrence, inputs, batch_sizes, hidden, memory)


def loop(
    recurrence: Recurrence,
    inputs: Gates,
    batch_sizes: Sequence[int],
    hidden: Tensor,
    memory: Tensor | None,
) -> Scan:
    """Run the recurrence along time by torch's operations.

    A step hands the weights of the centroids to the next, or, without a component and with a
    blend, the hidden vector: h_t = u_t, or its blend with alpha_t S, and noise.
    """
    cell, blend, size = recurrence.cell, recurrence.blend, hidden.shape[-1]
    x_gates = gates_of(inputs)
    states = None if recurrence.component is None else _States(recurrence.component, x_gates)
    noise = recurrence.draw_noise(len(x_gates), hidden)
    M, w, h, c, start = None, None, hidden, memory, 0
    us, hiddens, memories = [hidden[:0]], [hidden[:0]], [] if memory is None else [memory[:0]]
    for n in batch_sizes:
        c = None if c is None else c[:n]
        if w is None or states is None:  # the first step starts from any vectors
            h = h[:n]
            h_gates = recurrence.gates(h)
        else:
            M = recurrence.half(states.S) if M is None else M
            h_gates = h = w[:n] @ M
            if cell.reads_hidden:
                h_gates, h = h_gates[:, :-size], h_gates[:, -size:]
        u, c = cell.step(x_gates[start : start + n], h_gates, h, c, recurrence.peephole)
        if states is not None and blend is None:
            w = states(u, start)
        else:
            h = u if states is None else torch.lerp(u, states(u, start) @ states.S, blend or 0.0)
            h = h if noise is None else h + noise[start : start + n]
            us.append(u)
            hiddens.append(h)
        if c is not None:
            memories.append(c)
        start += n
    last, all_hidden = last_steps(batch_sizes, hidden.device), torch.cat(hiddens)
    all_memory = None if memory is None else torch.cat(memories)
    found = Scan(
        carried=all_hidden,
        centroids=None,
        last_hidden=hidden,
        memory=all_memory,
        last_memory=None if memory is None else _last(all_memory, last, memory),
        scores=None,
    )
    if states is None:
        return replace(found, last_hidden=_last(all_hidden, last, hidden))
    weights, scores = torch.cat(states.weights), torch.cat(states.scores)
    found = replace(
        found,
        carried=weights,
        centroids=states.S,
        scores=scores,
        temperature=states.component.temperature,
    )
    if blend is None:
        ended = weights[last] @ states.S
        return replace(found, last_hidden=torch.cat([ended, hidden[len(last) :]]))
    return replace(
        found,
        last_hidden=_last(all_hidden, last, hidden),
        mixtures=all_hidden,
        commitment=commitment(torch.cat(us), weights @ states.S),
    )


class _States:
    """The stochastic component along one pass; keeps the scores and weights of all steps."""

    def __init__(self, component: Component, x_gates: Tensor) -> None:
        self.component, self.S = component, component.centroids
        self.keys, self.offsets = component.similarity.keys(self.S)
        steps, states = len(x_gates), component.num_states
        self.noise = component.transition.draw(steps, states, x_gates, component.noise)
        self.weights, self.scores = [self.S.new_empty(0, states)], [self.S.new_empty(0, states)]

    def __call__(self, u: Tensor, start: int) -> Tensor:
        """Weights of the centroids for the vectors of the packed rows from `start` on."""
        score = self.component.similarity.query(u) @ self.keys.T
        if self.offsets is not None:
            score = score + self.offsets
        noise = None if self.noise is None else self.noise[start : start + len(u)]
        weights = self.component.transition(score, self.component.temperature, noise)
        self.weights.append(weights)
        self.scores.append(score)
        return weights


def last_steps(batch_sizes: Sequence[int], device: torch.device | None = None) -> Tensor:
    """Rows of the last step of each sequence that has one, in the packed layout."""
    rows: list[int] = []
    start = 0
    for n, after in pairwise([*batch_sizes, 0]):
        rows = [*range(start + after, start + n), *rows]  # those that end at this step
        start += n
    return torch.tensor(rows, dtype=torch.int64, device=device)


def _last(values: Tensor | None, last: Tensor, initial: Tensor) -> Tensor:
    """The value after the last step; sequences without steps keep their initial value."""
    assert values is not None
    return torch.cat([values[last], initial[len(last) :]])
