"""How well a trained network does, each figure with the rows it was measured on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.examples import Examples
from kleene.evaluation.baseline import ngram_answers
from kleene.evaluation.metrics import (
    ClassMetrics,
    Evaluation,
    class_metrics,
    evaluate,
    wilson_interval,
)
from kleene.nn.classifier import Classifier


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Labels of rows that were used for nothing else, and what was answered to them."""

    labels: Ints
    predicted: Ints
    baseline: Ints | None
    """Answers of n-grams with logistic regression; None where they were not asked for."""
    folds: int = 0
    """Cross-validation over so many folds answered; 0 where the network itself did."""

    @property
    def right(self) -> int:
        """How many answers are right."""
        return int((self.predicted == self.labels).sum())


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Accuracies on training, validation and held-out rows, and of two baselines.

    Choices were made on the validation rows; the held-out rows were used for nothing else. The
    baselines and `per_class` are measured on the held-out rows, or without any on the validation
    rows, or on the training rows.
    """

    training_rows: int
    training_accuracy: float
    validation_rows: int
    validation_accuracy: float | None
    held_out_rows: int
    held_out_accuracy: float | None
    held_out_interval: tuple[float, float] | None
    """The 95 % interval of the held-out accuracy (Wilson)."""
    held_out_folds: int
    """Held-out rows of cross-validation over so many folds; 0 for rows of their own."""
    baseline_accuracy: float | None
    """Accuracy of n-grams with logistic regression; None if not asked for."""
    majority_accuracy: float
    """Accuracy of always predicting the most frequent class."""
    per_class: tuple[ClassMetrics, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**asdict(self), "per_class": [asdict(one) for one in self.per_class]}


def no_better_than_majority(
    interval: Sequence[float] | None, rows_of_classes: Sequence[int]
) -> int | None:
    """The most common class, where an accuracy may be no higher than that class's share.

    `interval` is the 95 % interval of the accuracy on rows of which each class has so many. None
    where its lower end is above the share, or where no rows were held out.

    >>> no_better_than_majority((0.45, 0.62), [40, 60]), no_better_than_majority((0.7, 0.9), [5, 5])
    (1, None)
    """
    total = sum(rows_of_classes)
    if interval is None or not total or interval[0] > max(rows_of_classes) / total:
        return None
    return list(rows_of_classes).index(max(rows_of_classes))


def answers(
    network: Classifier, training: Examples, held_out: Examples, *, baseline: bool, seed: int
) -> Answers:
    """The answers of a network, and of n-grams trained on the same rows, to held-out rows."""
    found = evaluate(network, held_out)
    compared = ngram_answers(next(training.parts()), held_out, seed=seed) if baseline else None
    return Answers(labels=held_out.labels, predicted=found.predicted, baseline=compared)


def measure(
    network: Classifier,
    training: Examples,
    validation: Examples | None,
    held_out: Answers | None,
) -> Figures:
    """Run the network over training and validation rows, and count the held-out answers."""
    found = [_labels(evaluate(network, part)) for part in training.parts()]
    labels, predicted = (np.concatenate(column) for column in zip(*found, strict=True))
    training_rows, training_accuracy = len(labels), float((labels == predicted).mean())
    checked = None if validation is None else evaluate(network, validation)
    if checked is not None:
        labels, predicted = checked.labels, checked.predicted
    baseline = None
    if held_out is not None:
        labels, predicted, baseline = held_out.labels, held_out.predicted, held_out.baseline
    counts = np.bincount(labels, minlength=network.config.num_classes)
    return Figures(
        training_rows=training_rows,
        training_accuracy=training_accuracy,
        validation_rows=0 if checked is None else len(checked.labels),
        validation_accuracy=None if checked is None else checked.accuracy,
        held_out_rows=0 if held_out is None else len(labels),
        held_out_accuracy=None if held_out is None else held_out.right / len(labels),
        held_out_interval=None
        if held_out is None
        else wilson_interval(held_out.right, len(labels)),
        held_out_folds=0 if held_out is None else held_out.folds,
        baseline_accuracy=None if baseline is None else float((baseline == labels).mean()),
        majority_accuracy=float(counts.max() / max(len(labels), 1)),
        per_class=class_metrics(labels, predicted, network.config.num_classes),
    )


def _labels(found: Evaluation) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Labels and answers in little space: there may be millions of rows."""
    return found.labels.astype(np.int32), found.predicted.astype(np.int32)
