"""Which of the automata found is taken: by errors on held-out rows, description length and size.

Numbers of errors are taken to be Poisson; one is added, since none seen does not mean none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from kleene.induction.candidates import Candidate
from kleene.induction.search import Search


@dataclass(frozen=True)
class Judged:
    """A candidate and its errors on the rows of the search and on those held out."""

    candidate: Candidate
    training_errors: int
    held_out_errors: int

    @property
    def states(self) -> int:
        """The number of its states."""
        return len(self.candidate.table)

    @property
    def errors(self) -> int:
        """Errors on all rows."""
        return self.training_errors + self.held_out_errors

    @property
    def description_length(self) -> float:
        """Bits of the automaton and of the labels."""
        return self.candidate.description_length

    @property
    def length_by_table(self) -> float:
        """The same, with all transitions written down."""
        table_bits = Search.table_bits(self.candidate.table)
        return self.description_length - self.candidate.model_bits + table_bits


def choose(judged: Sequence[Judged]) -> Judged:
    """The shortest description among those about as good as the one of the fewest errors.

    The description of a pattern is short, however large its automaton. That is a reason to believe
    a pattern that explains all rows. Where errors are left, the smallest automaton of about as many
    errors is taken, if its table and the labels are described in fewer bits.
    """
    best = min(judged, key=lambda one: (one.held_out_errors, one.errors))
    good = [one for one in judged if _about_as_good(one, best)]
    shortest = min(good, key=lambda one: one.description_length)
    smaller = [one for one in good if _smaller(one, shortest)]
    return min(smaller, key=lambda one: (one.states, one.description_length), default=shortest)


def _about_as_good(one: Judged, best: Judged) -> bool:
    """Whether its held-out errors are within one standard error of the fewest.

    If it has fewer errors on all rows: within one standard error of the difference.
    """
    more = one.held_out_errors - best.held_out_errors
    if more <= sqrt(best.held_out_errors + 1):
        return True
    difference = sqrt(one.held_out_errors + 1 + best.held_out_errors + 1)
    return one.errors < best.errors and more <= difference


def _smaller(one: Judged, shortest: Judged) -> bool:
    few = shortest.errors + sqrt(shortest.errors)
    saves = one.length_by_table < shortest.length_by_table
    return shortest.errors > 0 and one.states < shortest.states and one.errors <= few and saves
