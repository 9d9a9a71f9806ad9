"""What induction found: the automaton, where it comes from, and what smaller ones would cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from kleene.automata import DFA
from kleene.induction.alternatives import Explanations, questions
from kleene.machine import Word


@dataclass(frozen=True, kw_only=True)
class FrontPoint:
    """The fewest errors of the automata found with at most so many states."""

    states: int
    training_errors: int
    held_out_errors: int | None


@dataclass(frozen=True, kw_only=True)
class Induction:
    """A small automaton that explains labelled sequences.

    `held_out_errors` are those of the automaton on rows that the search did not see; the rows are
    added afterwards, for a last refinement. `training_errors` are those on all rows.
    """

    dfa: DFA
    description_length: float
    """Bits of the automaton and of the labels, given the automaton."""
    training_errors: int
    rows: int
    distinct_rows: int
    held_out_errors: int | None
    held_out_rows: int
    method: str
    """The part of the search that found it: merges, patterns, restarts, majority (one state)."""
    front: tuple[FrontPoint, ...]
    """States against errors, for every automaton that a larger one does not beat."""
    seconds: float
    """CPU seconds of the search, compilation left out."""
    work: float
    """The same by the number of look-ups, on an ordinary core: equal for equal seeds."""
    stopped_early: bool
    """Whether the search stopped because its budget was spent."""
    seed: int
    explanations: Explanations = field(repr=False)
    """The rows and what the search found in them, for `alternatives`."""

    @cached_property
    def alternatives(self) -> tuple[DFA, ...]:
        """Other minimal automata that explain the rows as well; searched for at first use."""
        return self.explanations.alternatives(self.dfa)

    def questions(self, n: int = 5) -> list[Word]:
        """Up to `n` words whose labels would decide among the automaton and its alternatives.

        Label them, add them to the rows and induce again. There are none where no other automaton
        explains the rows.
        """
        return questions((self.dfa, *self.alternatives), n)

    @property
    def origin(self) -> str:
        """How it was made from the rows."""
        return f"{'merged' if self.method == 'merges' else 'grown'} from the data"

    @property
    def accuracy(self) -> float:
        """The share of all rows that the automaton labels correctly."""
        return 1 - self.training_errors / max(self.rows, 1)

    @property
    def held_out_accuracy(self) -> float | None:
        """The share of the held-out rows that it labels correctly; None without such rows."""
        if self.held_out_errors is None:
            return None
        return 1 - self.held_out_errors / self.held_out_rows

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, the automaton as its JSON document."""
        import json

        others = ("dfa", "front", "explanations", "alternatives")
        plain = {name: value for name, value in vars(self).items() if name not in others}
        return {
            "states": self.dfa.num_states,
            "origin": self.origin,
            **plain,
            "accuracy": self.accuracy,
            "held_out_accuracy": self.held_out_accuracy,
            "front": [asdict(point) for point in self.front],
            "dfa": json.loads(self.dfa.to_json()),
        }

    def __str__(self) -> str:
        lines = [
            f"{self.dfa.num_states}-state automaton over {len(self.dfa.alphabet)} symbols, "
            f"{self.origin} ({self.method})",
            f"wrong on {self.training_errors:,} of {self.rows:,} rows "
            f"({self.distinct_rows:,} distinct)",
        ]
        if self.held_out_errors is not None:
            lines.append(
                f"wrong on {self.held_out_errors:,} of {self.held_out_rows:,} rows that the search "
                "did not see"
            )
        stopped = ", stopped by its budget" if self.stopped_early else ""
        lines.append(
            f"description length {self.description_length:,.0f} bits, "
            f"{self.seconds:.1f} CPU seconds{stopped}"
        )
        lines += ["", "states  errors  held-out errors"]
        for point in self.front:
            held_out = "-" if point.held_out_errors is None else f"{point.held_out_errors:,}"
            lines.append(f"{point.states:>6}  {point.training_errors:>6,}  {held_out:>15}")
        return "\n".join(lines)
