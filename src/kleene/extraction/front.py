"""The front of size against error: the best automaton for each number of states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from kleene.automata import DFA
from kleene.percent import percent


@dataclass(frozen=True, kw_only=True)
class FrontPoint:
    """An automaton and its errors: held-out words and random words labelled unlike the network."""

    dfa: DFA = field(repr=False)
    origin: str
    held_out_errors: int
    held_out_words: int
    random_errors: int
    random_words: int

    @property
    def states(self) -> int:
        """The number of states."""
        return self.dfa.num_states

    @property
    def held_out_error(self) -> float:
        """The share of held-out given words on which automaton and network differ."""
        return self.held_out_errors / self.held_out_words if self.held_out_words else 0.0

    @property
    def random_error(self) -> float:
        """The share of random words on which automaton and network differ."""
        return self.random_errors / self.random_words if self.random_words else 0.0

    @property
    def error(self) -> float:
        """The held-out error, or the random error if no words were given."""
        return self.held_out_error if self.held_out_words else self.random_error

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

    def within(self, max_states: int | None) -> list[FrontPoint]:
        """The points of at most `max_states` states, or else the smallest point."""
        few = [p for p in self._points if max_states is None or p.states <= max_states]
        return few or self._points[:1]

    def knee(self, max_states: int | None = None) -> FrontPoint:
        """The smallest automaton within one standard error of the best."""
        points = self.within(max_states)
        best = min(points, key=lambda p: p.error)
        words = best.held_out_words or best.random_words
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
