"""Which of two models is better, and every outcome of `fit`.

The simpler of two models is kept unless it loses accuracy on the same rows, by more than chance or
by more than a point. What `fit` may end with, by `learn`:

| learn | outcome | when | origin |
| --- | --- | --- | --- |
| automaton | the network is taught the automaton | if it can learn the automaton | induced |
| automaton | the network trained by gradient | it cannot learn the automaton | trained |
| network | the network trained by gradient | always | trained |
| paper | the network trained as in the paper | always | paper |
| auto | taught before training | the automaton explains the rows | induced |
| auto | taught after training | the automaton is as good as the network | induced |
| auto | the network with states | they cost no accuracy, or were asked for | trained |
| auto | an LSTM with states and memory | the states of the first network cost accuracy | trained |
| auto | the same, taught by n-grams | n-grams are about as good as the plain cell | ngrams |
| auto | texts: states taught by n-grams | the sequences are texts | ngrams |
| auto | the plain cell | states cost accuracy, with memory too | plain |
| any | the network without states | `states=0` | plain |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Protocol, TypeVar

import numpy as np

from kleene.arrays import Ints
from kleene.data.examples import Examples
from kleene.evaluation.percent import percent

ORIGINS = {
    "trained": "gradient, on the rows",
    "paper": "gradient, by the paper's recipe",
    "induced": "an automaton found in the rows, taught to the network",
    "ngrams": "n-grams, taught to the network",
    "plain": "gradient, without states",
}
"""Where a model comes from, in words."""
MAX_STATES = 30
"""An automaton of more states is not small: it must not lose anything."""
MAX_LOSS, MAX_BASELINE_LOSS, MIN_ROWS = 0.01, 0.1, 3
"""Accuracy that a simpler model may lose, however few the rows; the same as a share of the rows
that the most common class gets wrong; and the number of rows that is always allowed."""
UNEXPLAINED, UNEXPLAINED_VALIDATION = 0.01, 0.005
"""Shares of the most common class's errors, on training and on validation rows, that an automaton
may leave and still be taken without training a network."""
MIN_ERRORS = 5
"""Errors up to which an automaton that explains all other rows is not replaced by a smaller one."""
NGRAM_LOSS = 0.03
"""Accuracy that n-grams may lose against the plain cell where they teach the states."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A simpler model and another one on the same rows, by the weights of the rows."""

    simple: str
    other: str
    kind: str
    """`"validation"` or `"training"`."""
    rows: int
    simple_accuracy: float
    other_accuracy: float
    baseline_errors: float
    """Weight of the rows that the most common class gets wrong."""
    lost: float
    """Weight of the rows that only the other model gets right, less that of the rows that only the
    simple one does."""
    standard_error: float
    """Of `lost`, if both were equally good; equal rows count as one observation."""

    @property
    def simple_is_as_good(self) -> bool:
        """Whether the simple model loses at most one standard error, and at most a point."""
        allowed = min(MAX_LOSS * self.rows, MAX_BASELINE_LOSS * self.baseline_errors)
        return self.lost <= self.standard_error and self.lost <= max(allowed, MIN_ROWS) + 1e-9

    @property
    def simple_is_no_worse(self) -> bool:
        """Whether the simple model loses nothing."""
        return self.lost <= 0

    def __str__(self) -> str:
        return (
            f"{self.simple} {percent(self.simple_accuracy)}, "
            f"{self.other} {percent(self.other_accuracy)} of {self.rows:,} {self.kind} rows"
        )


def compare(
    rows: Examples, simple: Ints, other: Ints, *, names: tuple[str, str], kind: str
) -> Comparison:
    """Compare the classes that two models predict for the same rows; -1 is no answer."""
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights.astype(np.float64)
    right, other_right = simple == rows.labels, other == rows.labels
    lost = weights * (other_right.astype(np.float64) - right)
    distinct: dict[tuple[bytes, int], float] = defaultdict(float)
    for row in np.flatnonzero(lost).tolist():
        distinct[rows.words[row].tobytes(), int(rows.labels[row])] += lost[row]
    total = float(weights.sum()) or 1.0
    return Comparison(
        simple=names[0],
        other=names[1],
        kind=kind,
        rows=len(rows),
        simple_accuracy=float(weights[right].sum()) / total,
        other_accuracy=float(weights[other_right].sum()) / total,
        baseline_errors=total - float(np.bincount(rows.labels, weights).max(initial=0.0)),
        lost=float(lost.sum()),
        standard_error=sqrt(sum(value**2 for value in distinct.values())),
    )


def explains(
    *, states: int, training: tuple[int, Examples], validation: tuple[int, Examples | None]
) -> bool:
    """Whether an automaton is so good that no network need be trained.

    Its errors are given with the rows; without validation rows, it must have none on the others.
    """
    (errors, rows), (new_errors, judged) = training, validation
    allowed = 0.0
    if states <= MAX_STATES and judged is not None:
        baseline = _majority_errors(judged)
        one_error = min(1.0, MAX_LOSS * len(judged), MAX_BASELINE_LOSS * baseline)
        allowed = max(one_error, UNEXPLAINED_VALIDATION * baseline)
    return errors <= UNEXPLAINED * _majority_errors(rows) and new_errors <= allowed


def _majority_errors(rows: Examples) -> int:
    """Errors of always predicting the most common class."""
    return len(rows) - int(np.bincount(rows.labels).max(initial=0))


class _Judged(Protocol):
    @property
    def num_states(self) -> int: ...
    @property
    def errors(self) -> int: ...
    @property
    def held_out_errors(self) -> int: ...
    @property
    def description_length(self) -> float: ...
    @property
    def length_by_table(self) -> float: ...


Candidate = TypeVar("Candidate", bound=_Judged)
"""A candidate automaton with its errors on all rows and on validation rows, and the bits that
describe it and the labels: by its pattern, or with all transitions written down."""


def choose_automaton(judged: Sequence[Candidate]) -> Candidate:
    """The shortest description among the automata about as good as the one of fewest errors.

    The description of a pattern is short, however large its automaton: a reason to believe a
    pattern that explains all rows. Where many errors are left, the smallest automaton of about as
    many errors is taken, if its table and the labels are described in fewer bits. Numbers of errors
    are taken to be Poisson; one is added, since none seen does not mean none.
    """
    best = min(judged, key=lambda one: (one.held_out_errors, one.errors))
    good = [one for one in judged if _about_as_good(one, best)]
    shortest = min(good, key=lambda one: one.description_length)
    smaller = [one for one in good if _smaller(one, shortest)]
    return min(smaller, key=lambda one: (one.num_states, one.description_length), default=shortest)


def _about_as_good(one: _Judged, best: _Judged) -> bool:
    """Whether its validation errors are within one standard error of the fewest.

    If it has fewer errors on all rows: within one standard error of the difference. On all rows,
    its errors must be within three standard errors of the difference.
    """
    if one.errors - best.errors > 3 * sqrt(one.errors + best.errors + 2):
        return False
    more = one.held_out_errors - best.held_out_errors
    if more <= sqrt(best.held_out_errors + 1):
        return True
    difference = sqrt(one.held_out_errors + 1 + best.held_out_errors + 1)
    return one.errors < best.errors and more <= difference


def _smaller(one: _Judged, shortest: _Judged) -> bool:
    allowed = shortest.errors + sqrt(shortest.errors)
    saves = one.length_by_table < shortest.length_by_table
    return (
        shortest.errors > MIN_ERRORS
        and one.num_states < shortest.num_states
        and one.errors <= allowed
        and saves
    )
