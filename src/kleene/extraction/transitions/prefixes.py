"""The states, hidden vectors and labels of the soft network, one entry per prefix of some words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kleene.arrays import Floats, Ints
from kleene.data.alphabet import Alphabet, Ids
from kleene.data.batch import make_batch
from kleene.evaluation.metrics import length_batches
from kleene.model import Model
from kleene.nn.inference import inference
from kleene.nn.mode import OWN, Mode
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
