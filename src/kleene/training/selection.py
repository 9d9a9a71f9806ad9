"""The choice between a network with states and the plain cell it started from.

States may cost accuracy: a task that no small machine solves, or that needs more states than the
network has. The network with states is kept where it is within one standard error of the cell on
rows that neither has trained on; otherwise the cell is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt

from torch import Tensor

from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.nn.classifier import Classifier


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A network with states beside a plain cell, on the same rows."""

    states: int
    rows: int
    states_accuracy: float
    cell_accuracy: float
    lost: int
    """Rows that the cell alone gets right."""
    won: int
    """Rows that the network with states alone gets right."""

    @property
    def states_cost_accuracy(self) -> bool:
        """Whether the cell is better by more than one standard error of the paired difference."""
        return self.lost - self.won > sqrt(self.lost + self.won)

    def describe(self, rows: str) -> str:
        """One line with both figures; `rows` says of which kind the rows are."""
        return (
            f"{self.states} states {self.states_accuracy:.2%}, plain cell "
            f"{self.cell_accuracy:.2%} of {self.rows:,} {rows} rows"
        )


def compare(with_states: Classifier, cell: Classifier, rows: Examples) -> Comparison:
    """Compare two networks on the same rows."""
    one, other = evaluate(with_states, rows), evaluate(cell, rows)
    right, cell_right = one.predicted == one.labels, other.predicted == other.labels
    return Comparison(
        states=with_states.rnn.num_states,
        rows=len(rows),
        states_accuracy=one.accuracy,
        cell_accuracy=other.accuracy,
        lost=int((cell_right & ~right).sum()),
        won=int((right & ~cell_right).sum()),
    )


def plain_cell(network: Classifier, weights: Mapping[str, Tensor]) -> Classifier:
    """A network without states of the same shape, with the weights of the cell."""
    cell = Classifier(replace(network.config, num_states=0, learn_temperature=False))
    cell.load_state_dict({name: weights[name] for name in cell.state_dict()})
    return cell.to(network.device).eval()
