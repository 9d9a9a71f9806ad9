"""What a network answers, and how well it does on labelled words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from kleene.data.batch import Encoded, batches, make_batch
from kleene.data.examples import Examples
from kleene.distributed import SINGLE_PROCESS, ProcessGroup
from kleene.errors import DataError
from kleene.nn.classifier import Classifier
from kleene.nn.mode import OWN, Mode, inference

MAX_STEPS = 250_000
"""Symbols of one batch, padding included, which bounds its memory."""


@dataclass(frozen=True, kw_only=True)
class ClassMetrics:
    """How well one class is found; 0 where there is nothing to divide by."""

    rows: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """Words by the probability of their answer, in bins of equal width from 0 to 1."""

    confidence: NDArray[np.float64]  # (bin,) the mean probability of the answers; NaN if empty
    accuracy: NDArray[np.float64]  # (bin,) the share of them that is right; NaN if empty
    counts: NDArray[np.int64]  # (bin,) how many words there are

    @property
    def error(self) -> float:
        """Expected calibration error: the mean over words of |confidence - accuracy| of its bin."""
        gaps = np.abs(self.confidence - self.accuracy)
        return float(np.nansum(gaps * self.counts) / max(int(self.counts.sum()), 1))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; empty bins are null."""
        means = {"confidence": self.confidence, "accuracy": self.accuracy}
        plain = {
            name: [None if np.isnan(value) else float(value) for value in values]
            for name, values in means.items()
        }
        return {"error": self.error, **plain, "counts": self.counts.tolist()}


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """The answers to some words, in their order; `predict` makes them."""

    probabilities: NDArray[np.float32]  # (word, class)
    predicted: NDArray[np.int64]
    """The class of the highest score; near ties of scores are equal as probabilities."""


@dataclass(frozen=True, kw_only=True)
class Evaluation(Predictions):
    """Answers, their loss and the right classes; `evaluate` makes them."""

    loss: float
    labels: NDArray[np.int64]

    @property
    def accuracy(self) -> float:
        """The share of words whose most probable class is the right one."""
        return float((self.predicted == self.labels).mean()) if len(self.labels) else 1.0

    @property
    def majority_accuracy(self) -> float:
        """The accuracy of always predicting the most frequent class."""
        return float(self.confusion.sum(1).max() / max(len(self.labels), 1))

    @property
    def per_class(self) -> tuple[ClassMetrics, ...]:
        """Precision, recall and F1 of each class."""
        return class_metrics(self.labels, self.predicted, self.probabilities.shape[1])

    @property
    def reliability(self) -> Reliability:
        """How far the probabilities can be believed; its `error` is the calibration error."""
        return reliability(self.probabilities, self.labels)

    @property
    def confusion(self) -> NDArray[np.int64]:
        """How many words of class i (row) were taken for class j (column)."""
        return _confusion(self.labels, self.predicted, self.probabilities.shape[1])


def _confusion(
    labels: NDArray[np.int64], predicted: NDArray[np.int64], classes: int
) -> NDArray[np.int64]:
    return np.bincount(labels * classes + predicted, minlength=classes**2).reshape(classes, -1)


def class_metrics(
    labels: NDArray[np.int64], predicted: NDArray[np.int64], classes: int
) -> tuple[ClassMetrics, ...]:
    """Precision, recall and F1 of each class."""
    table = _confusion(labels, predicted, classes)
    right, rows, answers = table.diagonal(), table.sum(1), table.sum(0)
    figures = zip(
        rows.tolist(),
        (right / np.maximum(answers, 1)).tolist(),
        (right / np.maximum(rows, 1)).tolist(),
        (2 * right / np.maximum(rows + answers, 1)).tolist(),
        strict=True,
    )
    return tuple(
        ClassMetrics(rows=count, precision=precision, recall=recall, f1=f1)
        for count, precision, recall, f1 in figures
    )


def reliability(probabilities: ArrayLike, labels: ArrayLike, bins: int = 15) -> Reliability:
    """Confidence and accuracy by bin, from probabilities, (word, class), and the right classes.

    >>> reliability([[0.9, 0.1], [0.9, 0.1]], [0, 1]).error  # right in half of the cases
    0.4
    """
    rows, right = np.asarray(probabilities, dtype=np.float64), np.asarray(labels)
    confidence, hit = rows.max(1, initial=0), rows.argmax(1) == right if len(rows) else right
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    counts = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        return Reliability(
            confidence=np.bincount(place, confidence, bins) / counts,
            accuracy=np.bincount(place, hit, bins) / counts,
            counts=counts,
        )


def merged(parts: Sequence[Evaluation]) -> Evaluation:
    """The evaluations of several sets of words as one of all of them."""
    words = [len(part.labels) for part in parts]
    return Evaluation(
        loss=sum(part.loss * n for part, n in zip(parts, words, strict=True)) / max(sum(words), 1),
        labels=np.concatenate([part.labels for part in parts]),
        probabilities=np.concatenate([part.probabilities for part in parts]),
        predicted=np.concatenate([part.predicted for part in parts]),
    )


def evaluate(
    network: Classifier,
    examples: Examples,
    batch_size: int = 256,
    *,
    mode: Mode = OWN,
    process_group: ProcessGroup = SINGLE_PROCESS,
) -> Evaluation:
    """Run the network, in eval mode, over all words and compare its answers with the labels."""
    found = logits(network, examples.words, batch_size, mode=mode, process_group=process_group)
    labels = examples.labels.astype(np.int64, copy=False)
    loss = cross_entropy(found, torch.from_numpy(labels), reduction="sum")
    return Evaluation(
        loss=float(loss) / max(len(examples), 1),
        labels=labels,
        probabilities=found.softmax(-1).float().numpy(),
        predicted=found.argmax(-1).numpy(),
    )


def predict(network: Classifier, words: Sequence[Encoded], batch_size: int = 256) -> Predictions:
    """Run the network, in eval mode, over encoded words that need no labels."""
    found = logits(network, words, batch_size)
    return Predictions(
        probabilities=found.softmax(-1).float().numpy(), predicted=found.argmax(-1).numpy()
    )


def logits(
    network: Classifier,
    words: Sequence[Encoded],
    batch_size: int = 256,
    *,
    mode: Mode = OWN,
    process_group: ProcessGroup = SINGLE_PROCESS,
) -> Tensor:
    """Logits of the classes for each encoded word, on the CPU, (word, class).

    Processes share the words; each gets the scores of all.
    """
    require_fit(network, words)
    found = torch.zeros(len(words), network.config.num_classes, dtype=network.head.weight.dtype)
    with inference(network), torch.inference_mode():
        for order in process_group.shard(length_batches(words, batch_size)):
            batch = make_batch(words, order=order)
            found[torch.from_numpy(batch.order)] = network(batch, mode=mode).to(found)
    return torch.from_numpy(process_group.all_reduce_array(found.numpy()))


def require_fit(network: Classifier, words: Sequence[Encoded]) -> None:
    """Refuse words of another kind than the network reads."""
    size = network.config.input_size
    needed = ("time",) if network.config.num_symbols else ("time", size)
    for i, word in enumerate(words):
        if word.ndim != len(needed) or word.shape[1:] != needed[1:]:
            shape = "(time,), ids" if network.config.num_symbols else f"(time, {size}), vectors"
            raise DataError(f"words must have the shape {shape}, got {word.shape} for word {i}")


def wilson_interval(successes: int, n: int) -> tuple[float, float]:
    """The 95 % confidence interval of a share, by Wilson's score (1927).

    >>> low, high = wilson_interval(90, 100)
    >>> f"{low:.3f} to {high:.3f}"
    '0.826 to 0.945'
    """
    if not 0 <= successes <= n:
        raise DataError(f"successes must be from 0 to n={n}, got {successes}")
    if n == 0:
        return 0.0, 1.0
    share, z = successes / n, 1.959963984540054  # the normal distribution's 97.5 % quantile
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    width = 1 + z * z / n
    low, high = (centre - half) / width, (centre + half) / width  # rounding misses 0 and 1
    return (low if successes else 0.0), (high if successes < n else 1.0)


def length_batches(
    words: Sequence[Encoded], batch_size: int, max_steps: int | None = None
) -> list[NDArray[np.int64]]:
    """Indices of words of near lengths, shortest first; long words come in smaller batches."""
    parts = []
    for part in batches([len(word) for word in words], batch_size, seed=0, shuffle=False):
        size = max(1, (max_steps or MAX_STEPS) // (1 + len(words[part[-1]])))
        parts += [part[i : i + size] for i in range(0, len(part), size)]
    return parts
