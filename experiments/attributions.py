"""Attributions to compare explanations with, and deletion and insertion curves to measure them.

An attribution takes a network, encoded words and the class to explain for each, and gives one
weight per symbol: our own from the states, chance, or integrated gradients.

Deletion takes the symbols out of a word, the weightiest first, and records the probability of the
predicted class; a low area under that curve is good. Insertion starts from the empty word and puts
the symbols in, each at its place; a high area is good.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kleene.arrays import Floats, Ints
from kleene.data.alphabet import FIRST_SYMBOL, Alphabet
from kleene.data.batch import make_batch
from kleene.errors import DataError
from kleene.evaluation.metrics import length_batches, logits
from kleene.explain.methods import METHODS, predicting_states
from kleene.explain.traces import batched_traces, margins
from kleene.nn.classifier import Classifier
from kleene.nn.mode import inference

Attribution = Callable[[Classifier, Sequence[Ints], Ints], list[Floats]]
"""From a network, encoded words and the class to explain for each, to weights for each word."""


@dataclass(frozen=True)
class ByStates:
    """Our own weights, from one traced pass; they explain the predicted class."""

    method: str = "level"

    def __call__(self, network: Classifier, encoded: Sequence[Ints], classes: Ints) -> list[Floats]:
        """See `kleene.explain.methods`."""
        weigh = METHODS[self.method]
        weights: list[Floats] = [np.zeros(0, np.float32)] * len(encoded)
        for traced in batched_traces(network, encoded):
            found = weigh(network, traced, predicting_states(network, traced))
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
            for order in length_batches(encoded, self.batch_size, 20_000):
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


Doubles: TypeAlias = NDArray[np.float64]

FRACTIONS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)


def faithfulness(
    network: Classifier, encoded: Sequence[Ints], methods: Mapping[str, Attribution]
) -> dict[str, Any]:
    """Areas and mean curves of some methods on the same words, chance among them.

    Words need at least one symbol. The time of a method is the CPU time of explaining all words at
    once, divided by their number.
    """
    if not len(encoded) or min(map(len, encoded)) == 0:
        raise DataError("words must have at least one symbol, got an empty word or none at all")
    predicted = logits(network, encoded).argmax(-1).numpy()
    found: dict[str, Any] = {}
    for name, method in {"random": Random(), **methods}.items():
        began = time.process_time()
        weights = method(network, encoded, predicted)
        spent = time.process_time() - began
        found[name] = {"milliseconds": 1000 * spent / len(encoded)}
        curves = _curves(network, encoded, predicted, weights, FRACTIONS)
        for side, curve in zip(("deletion", "insertion"), curves, strict=True):
            areas = np.trapezoid(curve, FRACTIONS, axis=1)
            found[name] |= {f"{side}_area": float(areas.mean()), side: curve.mean(0).tolist()}
    return {"words": len(encoded), "fractions": list(FRACTIONS), "methods": found}


def _curves(
    network: Classifier,
    encoded: Sequence[Ints],
    predicted: Ints,
    weights: Sequence[Floats],
    fractions: Sequence[float],
) -> tuple[Doubles, Doubles]:
    """Probabilities of the predicted class of words with symbols left out and put in."""
    left_out: list[Ints] = []
    put_in: list[Ints] = []
    for word, weight in zip(encoded, weights, strict=True):
        rank = np.empty(len(word), np.int64)
        rank[np.argsort(-weight, kind="stable")] = np.arange(len(word))
        for fraction in fractions:
            moved = rank < round(fraction * len(word))
            left_out.append(word[~moved])
            put_in.append(word[moved])
    probabilities = logits(network, left_out + put_in).softmax(-1).numpy()
    both = probabilities.reshape(2, len(encoded), len(fractions), -1)
    chosen = both[:, np.arange(len(encoded)), :, predicted]  # word curve fraction
    return chosen[:, 0].astype(np.float64), chosen[:, 1].astype(np.float64)
