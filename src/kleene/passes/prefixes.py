"""One pass of the soft network over some words: vectors, labels and states of every prefix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from kleene.arrays import Floats, Ints
from kleene.data.alphabet import Alphabet, Ids
from kleene.data.batch import make_batch
from kleene.evaluation.metrics import length_batches
from kleene.model import Model
from kleene.nn.mode import OWN, Mode, inference
from kleene.nn.trace import Trace

UNLABELLED = -1
"""The class of a prefix that the network did not label."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Prefixes:
    """Every prefix of every word, word by word, from the empty prefix to the word itself.

    The entry before a prefix of t > 0 symbols is the prefix without its last symbol.
    """

    words: Sequence[Ids]
    word: Ints  # (prefix,) the index of the word
    time: Ints  # (prefix,) how many symbols it has
    column: Ints  # (prefix,) its last symbol's column, -1 for the empty prefix
    labels: Ints  # (prefix,) the network's class; `UNLABELLED` inside words under pooling
    states: Ints  # (prefix,) the most probable state of the top layer; 0 without centroids
    vectors: Floats  # (prefix, size) probabilities of all layers' centroids, or hidden vectors
    sizes: tuple[int, ...]  # how many of the vector's numbers belong to each layer

    @property
    def steps(self) -> Ints:
        """The entries that a symbol led to."""
        return np.flatnonzero(self.time > 0)

    @property
    def ends(self) -> Ints:
        """The entry of every word as a whole."""
        sizes: Ints = np.array([len(word) + 1 for word in self.words], dtype=np.int64)
        ends: Ints = np.cumsum(sizes) - 1
        return ends

    @property
    def hidden(self) -> Floats:
        """The top layer's hidden vectors of an LSTM, (prefix, unit), read with `hidden`."""
        return self.vectors[:, -self.sizes[-1] : -self.sizes[-1] // 2]

    @property
    def memory(self) -> Floats:
        """The top layer's memory of an LSTM, (prefix, unit), read with `hidden`."""
        return self.vectors[:, -self.sizes[-1] // 2 :]

    def prefix(self, entry: int) -> Ids:
        """The word of an entry."""
        prefix: Ids = self.words[self.word[entry]][: self.time[entry]]
        return prefix


def read_prefixes(
    model: Model, words: Sequence[Ids], *, hidden: bool = False, mode: Mode = OWN
) -> Prefixes:
    """Run the network once over the words; `hidden` keeps hidden vectors, not probabilities."""
    network = model.network
    pooled = network.config.pooling != "last"
    starts = np.cumsum([0, *(len(word) + 1 for word in words)], dtype=np.int64)
    labels = np.full(starts[-1], UNLABELLED, dtype=np.int64)
    states = np.zeros(starts[-1], dtype=np.int64)
    parts: list[Floats] = []
    places: list[Ints] = []
    sizes: tuple[int, ...] = (0,)
    with inference(network), torch.inference_mode():
        for order in length_batches(words, 256):
            batch = make_batch(words, order=order)
            trace = network.trace(batch, mode=mode)
            place = np.concatenate(
                [
                    np.arange(starts[row], starts[row] + length + 1)
                    for row, length in zip(batch.order, batch.lengths, strict=True)
                ]
            )
            places.append(place)
            mask = trace.mask
            if trace.states is not None:
                states[place] = trace.states[mask].cpu().numpy()
            kept = [_kept(layer, hidden)[mask] for layer in trace.layers]
            sizes = tuple(part.shape[-1] for part in kept)
            parts.append(torch.cat(kept, -1).cpu().numpy())
            if pooled:
                scores = network(batch, mode=mode)
                labels[starts[batch.order + 1] - 1] = scores.argmax(-1).cpu().numpy()
            else:
                memory = [None if x.memory is None else x.memory[mask] for x in trace.layers]
                scores = network.classify([x.hidden[mask] for x in trace.layers], memory)
                labels[place] = scores.argmax(-1).cpu().numpy()
    vectors = np.empty((starts[-1], sum(sizes)), dtype=np.float32)
    for place, part in zip(places, parts, strict=True):
        vectors[place] = part
    lengths = np.diff(starts) - 1
    word = np.repeat(np.arange(len(words)), lengths + 1)
    time = np.arange(starts[-1]) - starts[word]
    column = np.full(starts[-1], -1, dtype=np.int64)
    column[time > 0] = Alphabet.columns(np.concatenate([np.zeros(0, np.int64), *words]))
    return Prefixes(
        words=words,
        word=word,
        time=time,
        column=column,
        labels=labels,
        states=states,
        vectors=vectors,
        sizes=sizes,
    )


def _kept(layer: Trace, hidden: bool) -> Tensor:
    if not hidden and layer.probs is not None:
        return layer.probs
    return layer.hidden if layer.memory is None else torch.cat([layer.hidden, layer.memory], -1)


@dataclass(frozen=True)
class Argmax:
    """The most probable centroid of every layer, as in the paper; names are `3`, or `3/1`."""

    sizes: tuple[int, ...]

    def read(self, vectors: Floats) -> Ints:
        """The centroids of the layers as digits of one number."""
        keys = np.zeros(len(vectors), dtype=np.int64)
        for size, part in zip(self.sizes, self._layers(vectors), strict=True):
            keys = keys * size + part.argmax(axis=1)
        return keys

    def centroids(self, key: int) -> tuple[int, ...]:
        """The centroid of every layer."""
        digits = []
        for size in reversed(self.sizes):
            key, digit = divmod(key, size)
            digits.append(digit)
        return tuple(reversed(digits))

    def probabilities(self, vectors: Floats, keys: Ints) -> Floats:
        """The probability of each state in `keys`: the product over the layers, (n, key)."""
        chosen = np.array([self.centroids(int(key)) for key in keys]).reshape(len(keys), -1)
        parts = [part[:, chosen[:, i]] for i, part in enumerate(self._layers(vectors))]
        return np.prod(parts, axis=0, dtype=np.float32)  # type: ignore[no-any-return]

    def largest(self, vectors: Floats) -> Floats:
        """The probability of the most probable state: max(alpha), (n,)."""
        parts = [part.max(axis=1) for part in self._layers(vectors)]
        return np.prod(parts, axis=0, dtype=np.float32)  # type: ignore[no-any-return]

    def _layers(self, vectors: Floats) -> list[Floats]:
        return np.split(vectors, np.cumsum(self.sizes)[:-1], axis=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class StatePaths:
    """The state of every prefix: a path from state to state for each word."""

    prefixes: Prefixes
    partition: Argmax
    keys: Ints  # (state,) the partition's keys; state 0 is the start
    states: Ints  # (prefix,)

    @property
    def num_states(self) -> int:
        """How many states the words pass through."""
        return len(self.keys)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the states: their centroids, the lowest layer first."""
        return tuple("/".join(map(str, self.partition.centroids(int(key)))) for key in self.keys)


def follow(prefixes: Prefixes) -> StatePaths:
    """The states along every word; the start is state 0, the others are in the order of keys."""
    partition = Argmax(prefixes.sizes)
    found = partition.read(prefixes.vectors)
    keys, states = np.unique(found, return_inverse=True)
    order = np.argsort(keys != found[0], kind="stable")
    return StatePaths(
        prefixes=prefixes, partition=partition, keys=keys[order], states=np.argsort(order)[states]
    )
