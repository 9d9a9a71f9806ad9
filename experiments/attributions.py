"""Attributions to compare explanations with, and deletion and insertion curves to measure them.

An attribution takes a network, encoded words and the class to explain for each, and gives one
weight per symbol: our own from the states, chance, occlusion, integrated gradients (in batches, or
captum's, `pip install captum`).

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
from kleene.data.batch import Batch, make_batch
from kleene.errors import DataError
from kleene.evaluation.metrics import logits
from kleene.explain.batched_traces import batched_traces, plan
from kleene.explain.markup import columns
from kleene.explain.methods import METHODS, predicting_states
from kleene.explain.scoring import margins
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


@dataclass(frozen=True)
class CaptumGradients:
    """`captum.attr.IntegratedGradients` over the embeddings of one word after the other."""

    steps: int = 32

    def __call__(self, network: Classifier, encoded: Sequence[Ints], classes: Ints) -> list[Floats]:
        """Midpoints of the path from zeros to the embeddings, of the log-odds of the class."""
        from captum.attr import IntegratedGradients

        table = network.embedding.weight.detach()
        weights = []
        with inference(network, grad=True):
            for word, label in zip(encoded, classes, strict=True):
                vectors = table[torch.from_numpy(word)][None]  # word time size
                method = IntegratedGradients(_LogOdds(network, int(label)))
                found = method.attribute(vectors, n_steps=self.steps, method="riemann_middle")
                weights.append(found[0].sum(-1).float().cpu().numpy())
        return weights


@dataclass(frozen=True)
class _LogOdds:
    """Log-odds of a class as a function of the embeddings of words of one length."""

    network: Classifier
    label: int

    def __call__(self, vectors: Tensor) -> Tensor:
        """(word, time, size) -> (word,)."""
        words, steps, size = vectors.shape
        rows = Alphabet.ids(np.arange(steps * words))
        batch = Batch(
            tokens=rows,
            batch_sizes=np.full(steps, words),
            lengths=np.full(words, steps),
            order=np.arange(words),
        )
        specials = self.network.embedding.weight.detach()[:FIRST_SYMBOL]
        own = vectors.transpose(0, 1).reshape(-1, size)
        weight = {"embedding.weight": torch.cat([specials, own])}
        scores = torch.func.functional_call(self.network, weight, (batch,))
        return margins(scores, torch.full((words,), self.label))


Doubles: TypeAlias = NDArray[np.float64]

FRACTIONS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
RANDOM = "random"


@dataclass(frozen=True, kw_only=True)
class Curves:
    """One method's curves and the areas under them, one row a word."""

    method: str
    fractions: Doubles
    deletion: Doubles  # word fraction
    insertion: Doubles  # word fraction
    milliseconds: float
    """Of processor time, to explain one word."""

    @property
    def deletion_areas(self) -> Doubles:
        """Of each word; low is good."""
        areas: Doubles = np.asarray(np.trapezoid(self.deletion, self.fractions, axis=1))
        return areas

    @property
    def insertion_areas(self) -> Doubles:
        """Of each word; high is good."""
        areas: Doubles = np.asarray(np.trapezoid(self.insertion, self.fractions, axis=1))
        return areas

    @property
    def deletion_area(self) -> float:
        """The mean over all words."""
        return float(self.deletion_areas.mean())

    @property
    def insertion_area(self) -> float:
        """The mean over all words."""
        return float(self.insertion_areas.mean())


@dataclass(frozen=True, kw_only=True)
class Faithfulness:
    """The curves of several methods on the same words, chance among them."""

    curves: tuple[Curves, ...]

    def __getitem__(self, method: str) -> Curves:
        return next(found for found in self.curves if found.method == method)

    def beats_chance(self, method: str) -> tuple[bool, bool]:
        """Whether deletion and insertion are better than at random, by two standard errors."""
        ours, chance = self[method], self[RANDOM]
        gains = (
            chance.deletion_areas - ours.deletion_areas,
            ours.insertion_areas - chance.insertion_areas,
        )
        better = [bool(g.mean() > 2 * g.std(ddof=1) / np.sqrt(len(g))) for g in gains if len(g) > 1]
        return (better[0], better[1]) if better else (False, False)

    def __str__(self) -> str:
        return columns(self._header, self._rows())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: areas, mean curves, milliseconds."""
        return {
            "words": len(self.curves[0].deletion),
            "fractions": self.curves[0].fractions.tolist(),
            "methods": {
                found.method: {
                    "deletion_area": found.deletion_area,
                    "insertion_area": found.insertion_area,
                    "beats_chance": dict(
                        zip(("deletion", "insertion"), self.beats_chance(found.method), strict=True)
                    ),
                    "deletion": found.deletion.mean(0).tolist(),
                    "insertion": found.insertion.mean(0).tolist(),
                    "milliseconds": found.milliseconds,
                }
                for found in self.curves
            },
        }

    _header = ("method", "deletion (low is good)", "insertion (high)", "better than chance", "ms")

    def _rows(self) -> list[list[str]]:
        rows = []
        for found in self.curves:
            both = zip(("deletion", "insertion"), self.beats_chance(found.method), strict=True)
            better = " and ".join(name for name, won in both if won) or "no"
            rows.append(
                [
                    found.method,
                    f"{found.deletion_area:.3f}",
                    f"{found.insertion_area:.3f}",
                    "" if found.method == RANDOM else better,
                    f"{found.milliseconds:.2f}",
                ]
            )
        return rows


def faithfulness(
    network: Classifier,
    encoded: Sequence[Ints],
    methods: Mapping[str, Attribution],
    *,
    fractions: Sequence[float] = FRACTIONS,
) -> Faithfulness:
    """Measure some methods on the same words; chance is always among them.

    Words need at least one symbol. The time of a method is that of explaining all words at once,
    divided by their number.
    """
    if not len(encoded) or min(map(len, encoded)) == 0:
        raise DataError("words must have at least one symbol, got an empty word or none at all")
    predicted = logits(network, encoded).argmax(-1).numpy()
    every: dict[str, Attribution] = {RANDOM: Random(), **methods}
    curves = []
    for name, method in every.items():
        began = time.process_time()
        weights = method(network, encoded, predicted)
        spent = time.process_time() - began
        deletion, insertion = _curves(network, encoded, predicted, weights, fractions)
        curves.append(
            Curves(
                method=name,
                fractions=np.asarray(fractions, dtype=np.float64),
                deletion=deletion,
                insertion=insertion,
                milliseconds=1000 * spent / len(encoded),
            )
        )
    return Faithfulness(curves=tuple(curves))


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
