"""The front of size against error: the best automaton for each number of states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from kleene.automata import DFA
from kleene.evaluation.percent import percent
from kleene.extraction.fidelity import Fidelity


@dataclass(frozen=True, kw_only=True)
class FrontPoint:
    """An automaton, and how it does on held-out words (given) and random words (drawn)."""

    dfa: DFA = field(repr=False)
    origin: str
    fidelity: Fidelity

    @property
    def states(self) -> int:
        """The number of states."""
        return self.dfa.num_states

    @property
    def held_out_error(self) -> float:
        """The share of held-out given words on which automaton and network differ."""
        one = self.fidelity
        return (one.given_total - one.given_same) / max(one.given_total, 1)

    @property
    def random_error(self) -> float:
        """The share of random words on which automaton and network differ."""
        one = self.fidelity
        return (one.drawn_total - one.drawn_same) / max(one.drawn_total, 1)

    @property
    def error(self) -> float:
        """The held-out error, or the random error if no words were given."""
        return self.held_out_error if self.fidelity.given_total else self.random_error

    @property
    def rank(self) -> tuple[float, float]:
        """The order of the front: by error, then by random error."""
        return self.error, self.random_error

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "states": self.states,
            "origin": self.origin,
            "held_out_error": self.held_out_error,
            "random_error": self.random_error,
        }


class Front:
    """The best automaton for each number of states, the smallest first."""

    def __init__(self) -> None:
        self._points: list[FrontPoint] = []

    def add(self, point: FrontPoint) -> None:
        """Add a point unless another one is at least as small and as good."""
        if any(p.states <= point.states and p.rank <= point.rank for p in self._points):
            return
        kept = [p for p in self._points if p.states < point.states or p.rank < point.rank]
        self._points = sorted([*kept, point], key=lambda p: p.states)

    def __iter__(self) -> Iterator[FrontPoint]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, index: int) -> FrontPoint:
        return self._points[index]

    def knee(self, max_states: int | None = None) -> FrontPoint:
        """The smallest automaton within one standard error of the best.

        `max_states` bounds its size, unless all are larger.
        """
        few = [p for p in self._points if max_states is None or p.states <= max_states]
        points = few or self._points[:1]
        best = min(points, key=lambda p: p.error)
        words = best.fidelity.given_total or best.fidelity.drawn_total
        share = (best.error * words + 1) / (words + 2)
        allowed = best.error + sqrt(share * (1 - share) / max(words, 1))
        return next(p for p in points if p.error <= allowed)

    def __str__(self) -> str:
        lines = [f"{'states':>6}  {'held-out error':>14}  {'random error':>12}  origin"]
        lines += [
            f"{p.states:>6}  {percent(p.held_out_error):>14}  "
            f"{percent(p.random_error):>12}  {p.origin}"
            for p in self
        ]
        return "\n".join(lines)
