"""A sequence classifier: symbols or vectors in, one score per class out.

start token, word -> recurrent layers -> end token, one cell application without the stochastic
component -> linear layer on the hidden vector and, where there is one, the memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding

from kleene.data.alphabet import END, START
from kleene.data.batch import Batch
from kleene.nn.config import CELLS, SIMILARITIES, TRANSITIONS, NetworkConfig
from kleene.nn.inputs import Gates, LookedUp
from kleene.nn.layers import StateRegularized
from kleene.nn.scan import Scan
from kleene.nn.trace import Trace, make_trace
from kleene.nn.transition import soft_argmax


class Classifier(nn.Module):
    """The network behind `SequenceClassifier`; rows of its results follow those of the batch."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        cell = CELLS[config.cell]
        self.embedding = nn.Embedding(config.num_symbols or END + 1, config.input_size)
        self.rnn = StateRegularized(
            cell,
            config.input_size,
            config.hidden_size,
            config.num_layers,
            dropout=config.dropout,
            num_states=config.num_states,
            transition=TRANSITIONS[config.transition],
            similarity=SIMILARITIES[config.similarity],
            temperature=config.temperature,
            learn_temperature=config.learn_temperature,
        )
        self.head = nn.Linear(config.hidden_size * (1 + cell.has_memory), config.num_classes)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.head.weight.device

    def forward(self, batch: Batch) -> Tensor:
        """Scores of the classes, (batch, class)."""
        return self.observe(batch)[0]

    def observe(self, batch: Batch) -> tuple[Tensor, list[Scan]]:
        """Scores of the classes, and what every layer left behind, packed as in the batch."""
        scans, sizes = self._run(batch)
        return self._decide(scans, sizes), scans

    def _decide(self, scans: list[Scan], sizes: list[int]) -> Tensor:
        if self.config.pooling == "last":
            return self.classify([s.last_hidden for s in scans], [s.last_memory for s in scans])
        features = [scans[-1].hidden, scans[-1].memory]
        joined = torch.cat([part for part in features if part is not None], -1)
        return self._head(self._pool(joined, sizes))

    def classify(self, hidden: Sequence[Tensor], memory: Sequence[Tensor | None]) -> Tensor:
        """Scores of the classes after the last symbol, from the state of every layer."""
        last, c = hidden[-1], memory[-1]
        if self.config.end_token:
            end = self.embedding.weight[END : END + 1]
            last, c = self.rnn.end(end, hidden, memory)
        return self._head(last if c is None else torch.cat([last, c], -1))

    def trace(self, batch: Batch) -> Trace:
        """The record of one pass; time 0 is the state after the start token."""
        scans, sizes = self._run(batch)
        components = [self.rnn.recurrence(i).component for i in range(self.rnn.num_layers)]
        return make_trace(scans, components, sizes)

    def advance(self, states: Tensor | None, tokens: Tensor) -> tuple[list[Tensor], Tensor]:
        """One hard step of a memory-less network: from centroids to the nearest centroids.

        `states` are (n, layer), or None for the start from nothing; `tokens` are (n,). Returns the
        transition probabilities of every layer, (n, state), and the next states, (n, layer).
        """
        layers = range(self.rnn.num_layers)
        if states is None:
            hidden = [self.rnn.zeros(len(tokens)) for _ in layers]
        else:
            hidden = [self.rnn.centroids(i)[states[:, i]] for i in layers]
        x_gates = self.rnn.project(self.embedding(tokens))
        with self.hard():
            scans = self.rnn.scan_layers(x_gates, [len(tokens)], hidden, [None for _ in layers])
            components = [self.rnn.recurrence(i).component for i in layers]
        trace = make_trace(scans, components, [len(tokens)])
        probs = [cast(Tensor, layer.probs)[:, 0] for layer in trace.layers]
        return probs, trace.global_states[:, 0]

    def classify_states(self, states: Tensor) -> Tensor:
        """Scores of the classes of words that end in the given states, (n, layer)."""
        layers = range(self.rnn.num_layers)
        hidden = [self.rnn.centroids(i)[states[:, i]] for i in layers]
        return self.classify(hidden, [None for _ in layers])

    @contextmanager
    def hard(self) -> Iterator[None]:
        """Hard mode: every hidden vector is the nearest centroid."""
        transition, self.rnn.transition = self.rnn.transition, soft_argmax
        try:
            yield
        finally:
            self.rnn.transition = transition

    def _run(self, batch: Batch) -> tuple[list[Scan], list[int]]:
        sizes = [len(batch), *batch.batch_sizes.tolist()]
        x_gates = self._gates(torch.from_numpy(batch.tokens).to(self.device), len(batch))
        zeros = self.rnn.zeros(len(batch))
        layers = range(self.rnn.num_layers)
        memory = [zeros if self.rnn.cell.has_memory else None for _ in layers]
        hidden, mixed = [zeros for _ in layers], self.config.pooling != "last"
        return self.rnn.scan_layers(x_gates, sizes, hidden, memory, mixed=mixed), sizes

    def _gates(self, data: Tensor, batch: int) -> Gates:
        """The first layer's W x + b, the start token's in front: (steps, gates*hidden)."""
        vectors = self.embedding.weight
        noisy = self.training and self.config.dropout > 0
        if self.config.num_symbols:
            tokens = torch.cat([data.new_full((batch,), START), data])
            if len(tokens) >= len(vectors) and not noisy:
                return LookedUp(ids=tokens, table=self.rnn.project(vectors))  # rows of E W
            x = embedding(tokens, vectors)
        else:
            x = torch.cat([vectors[START].expand(batch, -1), data.to(vectors.dtype)])
        return self.rnn.inputs(dropout(x, self.config.dropout, self.training))

    def _pool(self, values: Tensor, sizes: list[int]) -> Tensor:
        """Mean or maximum over the steps of each word, (steps, size) -> (batch, size).

        Stretches of time that hold the same words are pooled as one block, the last one first.
        """
        blocks = [(n, len(list(steps))) for n, steps in groupby(sizes)]
        parts = torch.split(values, [n * steps for n, steps in blocks])
        mean = self.config.pooling == "mean"
        pooled = values.new_empty(0, values.shape[1])
        for (n, steps), part in zip(reversed(blocks), reversed(parts), strict=True):
            block = part.view(steps, n, -1)
            here, longer = block.sum(0) if mean else block.max(0).values, len(pooled)
            both = here[:longer] + pooled if mean else torch.maximum(here[:longer], pooled)
            pooled = torch.cat([both, here[longer:]])
        if not mean:
            return pooled
        lengths = torch.tensor(sizes)[:, None] > torch.arange(len(pooled))
        return pooled / lengths.sum(0, keepdim=True).T.to(pooled)

    def _head(self, features: Tensor) -> Tensor:
        scores: Tensor = self.head(dropout(features, self.config.dropout, self.training))
        return scores
