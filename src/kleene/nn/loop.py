"""The plain time loop: a cell, and its stochastic component, by torch's operations.

It runs on any device, in any float type, with any cell, transition and similarity.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kleene.nn.inputs import Gates, gates_of
from kleene.nn.recurrence import Component, Recurrence, Scan


def loop(
    recurrence: Recurrence,
    inputs: Gates,
    batch_sizes: Sequence[int],
    hidden: Tensor,
    memory: Tensor | None,
) -> Scan:
    """Run the recurrence along time; `scan` says more."""
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
    """The recurrence in centroid space: the weights of the centroids are carried."""
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


def last_steps(batch_sizes: Sequence[int], device: torch.device | None = None) -> Tensor:
    """Rows of the last step of each sequence that has one, in the packed layout."""
    sizes = torch.tensor([*batch_sizes, 0])
    ends = sizes[:-1] - sizes[1:]  # how many sequences end at each step
    starts = sizes.cumsum(0)[:-1] - sizes[:-1]
    times = torch.repeat_interleave(torch.arange(len(ends)), ends).flip(0)
    return (starts[times] + torch.arange(len(times))).to(device)


def _last(values: Tensor | None, last: Tensor, initial: Tensor) -> Tensor:
    """The value after the last step; sequences without steps keep their initial value."""
    assert values is not None
    return torch.cat([values[last], initial[len(last) :]])
