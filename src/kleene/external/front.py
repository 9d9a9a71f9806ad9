"""The front of size against error: the best automaton for each number of states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from kleene.automata import DFA


@dataclass(frozen=True, kw_only=True)
class ReadingPoint:
    """An automaton and how often it differs from the network, on words that it was not made from.

    The errors are shares: of the held-out part of the given words, and of random words.
    """

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
        """What decides: the held-out error, or the random error where no words were given."""
        return self.held_out_error if self.held_out_words else self.random_error

    @property
    def rank(self) -> tuple[float, float]:
        """What the front is ordered by: the error, then the random error."""
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
    """Points of which none is both larger and worse than another, the smallest first."""

    def __init__(self) -> None:
        self._points: list[ReadingPoint] = []

    def add(self, point: ReadingPoint) -> None:
        """Take a point in unless another is at least as small and as good."""
        if any(p.states <= point.states and p.rank <= point.rank for p in self._points):
            return
        kept = [p for p in self._points if p.states < point.states or p.rank < point.rank]
        self._points = sorted([*kept, point], key=lambda p: p.states)

    def __iter__(self) -> Iterator[ReadingPoint]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, index: int) -> ReadingPoint:
        return self._points[index]

    def within(self, max_states: int | None) -> list[ReadingPoint]:
        """The points of at most so many states; the smallest one where there is none."""
        few = [p for p in self._points if max_states is None or p.states <= max_states]
        return few or self._points[:1]

    def knee(self, max_states: int | None = None) -> ReadingPoint:
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
            f"{p.states:>6}  {p.held_out_error:>14.2%}  {p.random_error:>12.2%}  {p.origin}"
            for p in self
        ]
        return "\n".join(lines)
