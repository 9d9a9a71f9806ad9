"""Peers to compare our highlights with: chance, occlusion, integrated gradients.

All take a network, encoded words and the class to explain for each, and give one weight a symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from kleene.arrays import Floats, Ints
from kleene.data.alphabet import FIRST_SYMBOL, Alphabet
from kleene.data.batch import make_batch
from kleene.evaluation.metrics import logits
from kleene.explain.batched_traces import batched_traces, plan
from kleene.explain.methods import METHODS, predicting_states
from kleene.explain.scoring import margins, state_scores
from kleene.nn.classifier import Classifier
from kleene.nn.inference import inference

Attribution = Callable[[Classifier, Sequence[Ints], Ints], list[Floats]]
"""From a network, encoded words and the class to explain for each, to weights for each word."""


@dataclass(frozen=True)
class ByStates:
    """Our own weights, from one traced pass; they explain the predicted class."""

    method: str = "level"

    def __call__(self, network: Classifier, encoded: Sequence[Ints], classes: Ints) -> list[Floats]:
        """See `kleene.explain.methods`."""
        weigh = METHODS[self.method]
        of_states = state_scores(network).argmax(-1).cpu().numpy()
        weights: list[Floats] = [np.zeros(0, np.float32)] * len(encoded)
        for traced in batched_traces(network, encoded):
            found = weigh(network, traced, predicting_states(network, traced, of_states))
            for row, index in enumerate(traced.batch.order):
                weights[index] = found[row, : len(encoded[index])]
        return weights


@dataclass(frozen=True)
class Random:
    """Weights drawn at random: what every explanation has to beat."""

    seed: int = 0

    def __call__(self, network: Classifier, encoded: Sequence[Ints], classes: Ints) -> list[Floats]:
        """Uniform from 0 to 1."""
        random = np.random.default_rng(self.seed)
        return [random.random(len(word), np.float32) for word in encoded]


@dataclass(frozen=True)
class Occlusion:
    """By how much the log-odds of the class fall when a symbol is left out.

    It runs the network once for every symbol of every word.
    """

    def __call__(self, network: Classifier, encoded: Sequence[Ints], classes: Ints) -> list[Floats]:
        """log-odds(x) - log-odds(x without x_t)."""
        weights = []
        for word, label in zip(encoded, classes, strict=True):
            variants = [word, *(np.delete(word, t) for t in range(len(word)))]
            scores = logits(network, variants)
            odds = margins(scores, torch.full((len(variants),), int(label)))
            weights.append((odds[0] - odds[1:]).numpy())
        return weights


@dataclass(frozen=True)
class IntegratedGradients:
    """Sundararajan et al. (2017): (e_t - b) . mean over a of d log-odds / d e_t at b + a (e - b).

    e_t is the embedding of a symbol, b = 0. The weights of a word add up to its log-odds minus
    those of a word of zeros, as far as `steps` points of the path (midpoints) tell.
    """

    steps: int = 32
    batch_size: int = 32

    def __call__(self, network: Classifier, encoded: Sequence[Ints], classes: Ints) -> list[Floats]:
        """Forward and backward once for every point of the path."""
        weights: list[Floats] = [np.zeros(0, np.float32)] * len(encoded)
        with inference(network, grad=True):
            for order in plan([len(word) for word in encoded], self.batch_size, 20_000):
                for index, found in self._batch(network, encoded, classes, order):
                    weights[index] = found
        return weights

    def _batch(
        self, network: Classifier, encoded: Sequence[Ints], classes: Ints, order: Ints
    ) -> list[tuple[int, Floats]]:
        """Every occurrence gets its own row of the embedding table, to tell gradients apart."""
        chosen = [encoded[i] for i in order]
        rows = Alphabet.ids(np.arange(sum(map(len, chosen))))
        starts = np.cumsum([0, *map(len, chosen)])
        own = [rows[a:b] for a, b in pairwise(starts)]
        batch = make_batch(own)
        table = network.embedding.weight.detach()
        ids = torch.from_numpy(np.concatenate(chosen)).to(table.device)
        specials, vectors = table[:FIRST_SYMBOL], table[ids]
        labels = torch.from_numpy(classes[order][batch.order]).to(table.device)
        total = torch.zeros_like(vectors)
        for step in range(self.steps):
            point = (vectors * ((step + 0.5) / self.steps)).requires_grad_()
            weight = {"embedding.weight": torch.cat([specials, point])}
            scores: Tensor = torch.func.functional_call(network, weight, (batch,))
            total += torch.autograd.grad(margins(scores, labels).sum(), point)[0]
        flat = (vectors * total / self.steps).sum(-1).cpu().numpy()
        return [(int(i), flat[a:b]) for i, (a, b) in zip(order, pairwise(starts), strict=True)]
