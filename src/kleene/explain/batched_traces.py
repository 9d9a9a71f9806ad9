"""Traced passes over many words: what every reader of text and images starts from."""

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
from kleene.evaluation.metrics import require_fit
from kleene.explain.scoring import final_scores
from kleene.machine import Word
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.inference import inference
from kleene.nn.trace import Trace

BATCH_SIZE = 128
MAX_STEPS = 100_000  # of one batch, padding included, which bounds the memory of its trace


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
        """Of the classes, (batch, class)."""
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
    *,
    batch_size: int = BATCH_SIZE,
    max_steps: int = MAX_STEPS,
) -> Iterator[TracedBatch]:
    """Run a network, in eval mode, over all words, a batch at a time, the longest words first."""
    require_states(network)
    require_fit(network, encoded)
    for order in plan([len(word) for word in encoded], batch_size, max_steps):
        batch = make_batch(encoded, order=order)
        with inference(network), torch.inference_mode():
            trace = network.trace(batch)
            scores = final_scores(network, trace)
        yield TracedBatch(batch=batch, trace=trace, scores=scores)


def plan(lengths: Sequence[int], batch_size: int, max_steps: int) -> list[Ints]:
    """Indices of words of near lengths, so many to a batch that its trace stays small."""
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    parts, start = [], 0
    while start < len(order):
        longest = lengths[order[start]] + 1
        size = max(1, min(batch_size, max_steps // longest))
        parts.append(order[start : start + size])
        start += size
    return parts


def encode(model: Model, words: Sequence[Word]) -> list[Encoded]:
    """Words as the network takes them: ids of symbols, or the vectors themselves."""
    if model.network.config.num_symbols:
        return list(model.alphabet.encode_many(words))
    return [np.asarray(word, dtype=np.float32).reshape(len(word), -1) for word in words]


def require_symbols(model: Model, what: str) -> None:
    """Refuse a model that reads vectors, which have no names to list."""
    if not model.network.config.num_symbols:
        raise ExtractionError(
            f"{what} need symbols, but this network reads vectors; use `features` or "
            "`transition_maps`"
        )


def require_states(network: Classifier) -> None:
    """Refuse a network that has no states to read."""
    if not (network.config.num_states and network.rnn.regularized):
        raise ExtractionError(
            "this network has no states to read (its number of states is 0); "
            "train one with states above 0"
        )
