"""Scores of the classes for whole words, prefixes and single states; the class of a state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from kleene.arrays import Floats, Ints
from kleene.explain.markup import as_text
from kleene.machine import Label
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.state_weights import adds_up, full_weights, lead
from kleene.nn.trace import Trace

NEUTRAL = 0.1
"""A state is neutral if its lead is smaller than this share of the greatest of all states."""
AGREEMENT = 0.8
"""The least share of a state's symbols that are commoner in words of its class."""
UNNAMED = "-"
CHUNK = 2048  # steps classified at a time, so that the gates stay in the processor's cache


def final_scores(network: Classifier, trace: Trace) -> Tensor:
    """Scores of the classes for each word of a trace, (batch, class), as `forward` gives them."""
    if network.config.pooling == "last":
        rows = torch.arange(len(trace.lengths), device=trace.lengths.device)
        last = trace.lengths - 1
        return network.classify(
            [layer.hidden[rows, last] for layer in trace.layers],
            [None if layer.memory is None else layer.memory[rows, last] for layer in trace.layers],
        )
    mask, parts = trace.mask[:, :, None], _features(network, trace)
    means = ((part * mask).sum(1) / trace.lengths[:, None] for part in parts)
    maxima = (part.masked_fill(~mask, -torch.inf).amax(1) for part in parts)
    if network.config.pooling == "states":
        return network.classify_statistics(next(means), next(maxima))
    return _classified(network, list(means if network.config.pooling == "mean" else maxima))


def prefix_scores(network: Classifier, trace: Trace) -> Tensor:
    """Scores of the classes if each word ended after each step, (batch, time, class).

    Time 0 is the empty word; steps in the padding have no meaning.
    """
    if network.config.pooling == "last":
        hidden = [layer.hidden.flatten(0, 1) for layer in trace.layers]
        memory = [None if m is None else m.flatten(0, 1) for m in (t.memory for t in trace.layers)]
        parts = [
            network.classify(
                [h[i : i + CHUNK] for h in hidden],
                [None if c is None else c[i : i + CHUNK] for c in memory],
            )
            for i in range(0, len(hidden[0]), CHUNK)
        ]
        return torch.cat(parts).view(*trace.hidden.shape[:2], -1)
    parts = _features(network, trace)
    steps = torch.arange(1, trace.hidden.shape[1] + 1, device=trace.hidden.device)[:, None]
    if network.config.pooling == "mean":
        return _classified(network, [part.cumsum(1) / steps for part in parts])
    if network.config.pooling == "states":
        (alpha,) = parts
        return network.classify_statistics(alpha.cumsum(1) / steps, _running_maximum(alpha))
    return _classified(network, [_running_maximum(part) for part in parts])


def state_scores(network: Classifier) -> Tensor:
    """Scores of the classes for each centroid of the top layer, (state, class).

    The centroid is classified as if it were the hidden vector after a word. What else the network
    would look at is set to nothing: the memory of an LSTM to zero, and lower layers, which matter
    only where an end token is read, to the mean of their centroids. With `pooling="states"` it is
    the state's own weight: what a word gains by being in it throughout.
    """
    if adds_up(network):
        return full_weights(network)
    rnn = network.rnn
    top = rnn.centroids(rnn.num_layers - 1).detach()
    below = [
        rnn.centroids(i).detach().mean(0, keepdim=True).expand_as(top)
        for i in range(rnn.num_layers - 1)
    ]
    memory = torch.zeros_like(top) if rnn.cell.has_memory else None
    with torch.inference_mode():
        if network.config.pooling == "last":
            return network.classify([*below, top], [memory for _ in range(rnn.num_layers)])
        scores: Tensor = network.head(top if memory is None else torch.cat([top, memory], -1))
        return scores


def state_labels(model: Model, visits: Ints | None = None) -> tuple[Label | None, ...]:
    """The class that each state stands for, None for states that stand for none.

    Where the last state alone decides, it is the class of its centroid. Where states have weights
    (`pooling="states"`), it is the class its weight speaks for, and none if the weight is small or
    if the symbols that lead there do not agree: the symbols before them matter more. In any other
    network a state is named only if the words that visit it agree with the class of its centroid.
    `visits` counts the steps in each state over words predicted as each class, (class, state).
    """
    network = model.network
    scores = state_scores(network)
    classes = scores.argmax(-1)
    if adds_up(network):
        leads = lead(scores, classes)
        agrees = network.typical[2] >= AGREEMENT
        named = ((leads >= NEUTRAL * leads.max()) & agrees).cpu().numpy()
    elif _state_decides(model):
        named = np.ones(len(scores), bool)
    elif visits is None:
        named = np.zeros(len(scores), bool)
    else:
        shares = visits / np.maximum(visits.sum(1, keepdims=True), 1)
        named = shares.argmax(0) == classes.cpu().numpy()
    return tuple(
        model.classes[i] if one else None
        for i, one in zip(classes.tolist(), named.tolist(), strict=True)
    )


def state_leads(model: Model) -> Floats | None:
    """The weight of each state for each class against the others, (state, class).

    None where states have no weights of their own.
    """
    if not adds_up(model.network):
        return None
    scores = state_scores(model.network)
    columns = [
        lead(scores, torch.full((len(scores),), i, device=scores.device))
        for i in range(len(model.classes))
    ]
    return torch.stack(columns, -1).float().cpu().numpy()


def label_text(label: Label | None) -> str:
    """A label as it is shown; a dash for a state that stands for no class."""
    return UNNAMED if label is None else as_text(label)


def _state_decides(model: Model) -> bool:
    rnn = model.network.rnn
    last = model.network.config.pooling == "last" and rnn.num_layers == 1
    return last and not rnn.cell.has_memory


def margins(scores: Tensor, classes: Tensor) -> Tensor:
    """Log-odds of one class a word against all others, (batch, ..., class) -> (batch, ...)."""
    between = (1,) * (scores.dim() - 1)
    index = classes.view(-1, *between).expand(*scores.shape[:-1], 1)
    others = scores.scatter(-1, index, -torch.inf)
    if scores.shape[-1] == 1:
        return torch.zeros_like(scores[..., 0])
    return scores.gather(-1, index).squeeze(-1) - others.logsumexp(-1)


def _features(network: Classifier, trace: Trace) -> list[Tensor]:
    """What is pooled over time: hidden vectors and memory, where there is one, or the states."""
    if network.config.pooling == "states" and trace.weights is not None:
        return [trace.weights]
    return [trace.hidden] if trace.memory is None else [trace.hidden, trace.memory]


def _classified(network: Classifier, pooled: Sequence[Tensor]) -> Tensor:
    """Scores of the classes from pooled parts, without putting them side by side first."""
    weights = torch.split(network.head.weight, [part.shape[-1] for part in pooled], -1)
    products = [linear(part, weight) for part, weight in zip(pooled, weights, strict=True)]
    scores: Tensor = sum(products, network.head.bias)
    return scores


def _running_maximum(values: Tensor) -> Tensor:
    """The maximum over all steps so far, (batch, time, size).

    `torch.cummax` keeps the place of each maximum, too, which makes it many times slower.
    """
    found = [values[:, 0]]
    for step in values.unbind(1)[1:]:
        found.append(torch.maximum(found[-1], step))
    return torch.stack(found, 1)
