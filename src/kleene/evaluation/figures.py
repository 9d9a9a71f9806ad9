"""How well a trained network does, each figure with the rows it was measured on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kleene.data.examples import Examples
from kleene.data.streaming import TrainingData
from kleene.evaluation.baseline import ngram_accuracy
from kleene.evaluation.metrics import ClassMetrics, evaluate, merged
from kleene.nn.classifier import Classifier


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Accuracies on training rows and on held-out rows, beside two baselines on the latter.

    Without held-out rows, `majority_accuracy` and `per_class` are of the training rows.
    """

    training_rows: int
    training_accuracy: float
    held_out_rows: int
    held_out_accuracy: float | None
    baseline_accuracy: float | None
    """Of n-grams with logistic regression; None where it was not asked for."""
    majority_accuracy: float
    """Of always predicting the most frequent class."""
    per_class: tuple[ClassMetrics, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**asdict(self), "per_class": [asdict(one) for one in self.per_class]}


def measure(
    network: Classifier,
    training: TrainingData,
    held_out: Examples | None,
    *,
    baseline: bool = False,
    seed: int = 0,
) -> Figures:
    """Run the network over all rows, and the baseline over as many as take some seconds."""
    trained = merged([evaluate(network, part) for part in training.parts()])
    shown = trained if held_out is None else evaluate(network, held_out)
    compared = None
    if baseline and held_out is not None:
        compared = ngram_accuracy(next(training.parts()), held_out, seed=seed)
    return Figures(
        training_rows=len(trained.labels),
        training_accuracy=trained.accuracy,
        held_out_rows=0 if held_out is None else len(held_out),
        held_out_accuracy=None if held_out is None else shown.accuracy,
        baseline_accuracy=compared,
        majority_accuracy=shown.majority_accuracy,
        per_class=shown.per_class,
    )
