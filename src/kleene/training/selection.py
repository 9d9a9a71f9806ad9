"""The choice between a network with states and the plain cell it started from.

States may cost accuracy: a task that no small machine solves, or that needs more states than the
network has. The network with states is kept where it is within one standard error of the cell, and
within one point, on rows that neither has trained on; otherwise the cell is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.nn.classifier import Classifier

LARGEST_LOSS, FEW_ROWS = 0.01, 3
"""Accuracy that states may cost at most, where it is more than that of so few rows: the errors of
two networks that differ on many rows have a large standard error."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A network with states beside a plain cell, on the same rows, by the weights of the rows."""

    states: int
    rows: int
    states_accuracy: float
    cell_accuracy: float
    lost: float
    """Weight of the rows that the cell gets right and the network wrong, less that of the rows
    where it is the other way round."""
    standard_error: float
    """Of `lost`, if both were equally good; equal rows say the same thing, not as many things."""

    @property
    def states_cost_accuracy(self) -> bool:
        """Whether the cell is better by more than one standard error of the paired difference.

        Or by more than one point, where that is less.
        """
        points = round(self.cell_accuracy - self.states_accuracy, 9)
        much = round(max(LARGEST_LOSS, FEW_ROWS / self.rows), 9)
        return self.lost > self.standard_error or points > much

    def describe(self, rows: str) -> str:
        """One line with both figures; `rows` says of which kind the rows are."""
        return (
            f"{self.states} states {self.states_accuracy:.2%}, plain cell "
            f"{self.cell_accuracy:.2%} of {self.rows:,} {rows} rows"
        )


def compare(with_states: Classifier, cell: Classifier, rows: Examples) -> Comparison:
    """Compare two networks on the same rows."""
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights.astype(np.float64)
    one, other = evaluate(with_states, rows), evaluate(cell, rows)
    right, cell_right = one.predicted == one.labels, other.predicted == other.labels
    lost = weights * (cell_right.astype(np.float64) - right)
    distinct: dict[tuple[bytes, int], float] = defaultdict(float)
    for row in np.flatnonzero(lost).tolist():
        distinct[rows.words[row].tobytes(), int(rows.labels[row])] += lost[row]
    return Comparison(
        states=with_states.rnn.num_states,
        rows=len(rows),
        states_accuracy=_share(right, weights),
        cell_accuracy=_share(cell_right, weights),
        lost=float(lost.sum()),
        standard_error=sqrt(sum(value**2 for value in distinct.values())),
    )


def _share(right: NDArray[np.bool_], weights: NDArray[np.float64]) -> float:
    """The weight of the rows that are right, of all."""
    return float(weights[right].sum() / weights.sum()) if weights.any() else 1.0


def plain_cell(network: Classifier, weights: Mapping[str, Tensor]) -> Classifier:
    """A network without states of the same shape, with the weights of the cell."""
    cell = Classifier(replace(network.config, num_states=0, learn_temperature=False))
    cell.load_state_dict({name: weights[name] for name in cell.state_dict()})
    return cell.to(network.device).eval()
