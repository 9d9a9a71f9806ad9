"""How well a network does on labelled words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from kleene.data.examples import Examples
from kleene.distributed import SINGLE_PROCESS, ProcessGroup
from kleene.evaluation.calibration import Reliability, reliability
from kleene.nn.classifier import Classifier
from kleene.nn.inference import inference


@dataclass(frozen=True, kw_only=True)
class ClassMetrics:
    """How well one class is found; 0 where there is nothing to divide by."""

    rows: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Loss, predicted classes and their probabilities, in the order of the words."""

    loss: float
    labels: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    predicted: NDArray[np.int64]
    """The class of the highest score; near ties of scores are equal as probabilities."""

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
        table = self.confusion
        return tuple(
            ClassMetrics(
                rows=int(table[i].sum()),
                precision=_ratio(table[i, i], table[:, i].sum()),
                recall=_ratio(table[i, i], table[i].sum()),
                f1=_ratio(2 * table[i, i], table[i].sum() + table[:, i].sum()),
            )
            for i in range(len(table))
        )

    @property
    def reliability(self) -> Reliability:
        """How far the probabilities can be believed; its `error` is the calibration error."""
        return reliability(self.probabilities, self.labels)

    @property
    def confusion(self) -> NDArray[np.int64]:
        """How many words of class i (row) were taken for class j (column)."""
        classes = self.probabilities.shape[1]
        table = np.zeros((classes, classes), dtype=np.int64)
        np.add.at(table, (self.labels, self.predicted), 1)
        return table


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
    process_group: ProcessGroup = SINGLE_PROCESS,
) -> Evaluation:
    """Run the network, in eval mode, over all words; each once, by one of the processes."""
    probabilities = np.zeros((len(examples), network.config.num_classes), dtype=np.float32)
    predicted = np.zeros(len(examples), dtype=np.int64)
    loss = 0.0
    with inference(network), torch.inference_mode():
        for batch in examples.in_order(batch_size, process_group):
            scores = network(batch)
            labels = torch.from_numpy(batch.labels).to(scores.device)
            loss += float(cross_entropy(scores, labels, reduction="sum"))
            probabilities[batch.order] = scores.softmax(-1).cpu().numpy()
            predicted[batch.order] = scores.argmax(-1).cpu().numpy()
    loss = process_group.all_reduce_array(np.array([loss])).item()
    return Evaluation(
        loss=loss / max(len(examples), 1),
        labels=examples.labels,
        probabilities=process_group.all_reduce_array(probabilities),
        predicted=process_group.all_reduce_array(predicted),
    )


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
