"""Traced passes over many words, and the scores of words, prefixes and states: what every
explanation starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kleene.arrays import Floats, Ints
from kleene.data.batch import Batch, Encoded, make_batch
from kleene.errors import ExtractionError
from kleene.evaluation.metrics import length_batches, require_fit
from kleene.explain.markup import as_text
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.nn.classifier import Classifier, adds_up, full_weights, lead
from kleene.nn.mode import inference
from kleene.nn.trace import Trace

BATCH_SIZE = 128
MAX_STEPS = 100_000  # of one batch, padding included, which bounds the memory of its trace
NEUTRAL = 0.1
"""A state is neutral if its lead is smaller than this share of the greatest of all states."""
AGREEMENT = 0.8
"""The least share of a state's symbols that are commoner in words of its class."""
UNNAMED = "-"
CHUNK = 2048  # steps classified at a time, so that the gates stay in the processor's cache


@dataclass(frozen=True, kw_only=True)
class TracedBatch:
    """Words, their trace and their scores; time 0 is the start token's."""

    batch: Batch
    trace: Trace
    scores: Tensor  # batch class

    @cached_property
    def probs(self) -> Floats:
        """Transition probabilities of the top layer, (batch, time, state)."""
        assert self.trace.probs is not None
        return self.trace.probs.float().cpu().numpy()

    @cached_property
    def probabilities(self) -> Floats:
        """Probabilities of the classes, (batch, class)."""
        return self.scores.float().softmax(-1).cpu().numpy()

    @cached_property
    def predicted_classes(self) -> Tensor:
        """The class of the highest score of each word, (batch,)."""
        return self.scores.argmax(-1)

    @cached_property
    def predicted(self) -> Ints:
        """The same as an array."""
        return self.predicted_classes.cpu().numpy()

    @cached_property
    def states(self) -> Ints:
        """The state after each step, -1 in the padding, (batch, time)."""
        assert self.trace.states is not None
        return self.trace.states.cpu().numpy()

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """True at the steps that read a symbol of a word, (batch, time - 1)."""
        return np.arange(self.probs.shape[1] - 1) < self.batch.lengths[:, None]

    @cached_property
    def ids(self) -> Ints:
        """The symbols in the order of `mask`: word by word, each in the order of time."""
        sizes = self.batch.batch_sizes
        starts = np.cumsum(sizes) - sizes
        row, time = np.nonzero(self.mask)
        tokens = cast(Ints, self.batch.tokens)
        ids: Ints = tokens[starts[time] + row]
        return ids


def batched_traces(
    network: Classifier,
    encoded: Sequence[Encoded],
    batch_size: int = BATCH_SIZE,
) -> Iterator[TracedBatch]:
    """Run a network, in eval mode, over all words, a batch of near lengths at a time."""
    require_states(network)
    require_fit(network, encoded)
    for order in length_batches(encoded, batch_size, MAX_STEPS):
        batch = make_batch(encoded, order=order)
        with inference(network), torch.inference_mode():
            scores, trace = network.scored_trace(batch)
        yield TracedBatch(batch=batch, trace=trace, scores=scores)


def encode(model: Model, words: Sequence[Word]) -> list[Encoded]:
    """Words as the network takes them: ids of symbols, or the vectors themselves."""
    if model.network.config.num_symbols:
        return list(model.alphabet.encode_many(words))
    return [np.asarray(word, dtype=np.float32).reshape(len(word), -1) for word in words]


def require_symbols(model: Model, what: str) -> None:
    """Refuse a model that reads vectors, which have no names to list."""
    if not model.network.config.num_symbols:
        raise ExtractionError(
            f"{what} need symbols, but this network reads vectors; use `transform` (features)"
        )


def require_states(network: Classifier) -> None:
    """Refuse a network that has no states to read."""
    if not network.config.num_states:
        raise ExtractionError(
            "this network has no states to read (its number of states is 0); "
            "train one with states above 0"
        )


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
    steps = torch.arange(1, trace.hidden.shape[1] + 1, device=trace.hidden.device)[:, None]
    if (alpha := trace.weights) is not None and network.config.pooling == "states":
        return network.classify_statistics(alpha.cumsum(1) / steps, _running_maximum(alpha))
    seen = trace.hidden if trace.memory is None else torch.cat([trace.hidden, trace.memory], -1)
    mean = network.config.pooling == "mean"
    scores: Tensor = network.head(seen.cumsum(1) / steps if mean else _running_maximum(seen))
    return scores


def _running_maximum(values: Tensor) -> Tensor:
    """The maximum over all steps so far, (batch, time, size).

    `torch.cummax` keeps the place of each maximum, too, which makes it many times slower.
    """
    found = [values[:, 0]]
    for step in values.unbind(1)[1:]:
        found.append(torch.maximum(found[-1], step))
    return torch.stack(found, 1)


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
    elif _last_state_decides(network):
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
    others = (scores.sum(-1, keepdim=True) - scores) / max(len(model.classes) - 1, 1)
    return (scores - others).float().cpu().numpy()


def label_text(label: Label | None) -> str:
    """A label as it is shown; a dash for a state that stands for no class."""
    return UNNAMED if label is None else as_text(label)


def _last_state_decides(network: Classifier) -> bool:
    rnn = network.rnn
    return network.config.pooling == "last" and rnn.num_layers == 1 and not rnn.cell.has_memory


def margins(scores: Tensor, classes: Tensor) -> Tensor:
    """Log-odds of one class a word against all others, (batch, ..., class) -> (batch, ...)."""
    between = (1,) * (scores.dim() - 1)
    index = classes.view(-1, *between).expand(*scores.shape[:-1], 1)
    others = scores.scatter(-1, index, -torch.inf)
    if scores.shape[-1] == 1:
        return torch.zeros_like(scores[..., 0])
    return scores.gather(-1, index).squeeze(-1) - others.logsumexp(-1)
