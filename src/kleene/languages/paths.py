"""Drawing words uniformly from a finite machine, by counting the paths that lead to a goal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints


class Paths:
    """The words that lead a finite machine from its initial state to one of its goals.

    With N_l(s) the number of words of length l from state s to a goal,

        N_0(s) = 1 if s is a goal, else 0,      N_l(s) = sum over a of N_{l-1}(next(s, a)),

    a word is uniform among those of its length when every symbol a is drawn with probability
    N_{l-1}(next(s, a)) / N_l(s). Counts are kept as logarithms, so that length is no limit.
    """

    def __init__(self, transitions: Ints, goals: NDArray[np.bool_], initial: int) -> None:
        self.transitions = transitions  # (state, symbol)
        self.initial = initial
        self._odds = np.zeros((0, *transitions.shape))  # (length, state, symbol), cumulative
        with np.errstate(divide="ignore"):
            self._logs = np.log(goals.astype(np.float64))[None]  # (length, state)

    def count(self, length: int) -> float:
        """How many words there are of one length: exact to some 12 digits, infinite when huge."""
        log = float(self._log_counts(length)[length, self.initial])
        if log > 700:
            return float("inf")
        return float(np.rint(np.exp(log)) if log < 30 else np.exp(log))

    def draw(self, random: np.random.Generator, lengths: Ints) -> list[Ints]:
        """One word, as symbol numbers, for each length; every length must have a word."""
        longest = int(lengths.max(initial=0))
        choice = self._cumulative(longest)
        longest_first = np.argsort(-lengths, kind="stable")
        left = lengths[longest_first]
        words = np.zeros((len(lengths), longest), dtype=np.int64)
        state = np.full(len(lengths), self.initial)
        for t in range(longest):
            active = int(np.searchsorted(-left, -t))  # the rows of length > t
            odds = choice[left[:active] - t, state[:active]]
            symbol = (odds <= random.random((active, 1))).sum(axis=1)
            words[:active, t] = symbol
            state[:active] = self.transitions[state[:active], symbol]
        drawn = np.empty_like(words)
        drawn[longest_first] = words
        return [word[:length] for word, length in zip(drawn, lengths, strict=True)]

    def all(self, length: int) -> Ints:
        """Every word of one length: (word, symbol), in lexicographic order of symbol numbers."""
        logs = self._log_counts(length)
        alive = np.isfinite(logs[length, self.initial])
        words = np.zeros((int(alive), 0), dtype=np.int64)
        states = np.full(int(alive), self.initial)
        for left in range(length - 1, -1, -1):
            following = self.transitions[states]  # (word, symbol)
            row, symbol = np.nonzero(np.isfinite(logs[left, following]))
            words = np.concatenate([words[row], symbol[:, None]], axis=1)
            states = following[row, symbol]
        return words

    def _log_counts(self, length: int) -> NDArray[np.float64]:
        """log N by length and state, at least up to `length`."""
        if len(self._logs) <= length:
            rows = list(self._logs)
            while len(rows) <= 2 * length:  # longer lengths will follow
                rows.append(np.logaddexp.reduce(rows[-1][self.transitions], axis=1))
            self._logs = np.stack(rows)
        return self._logs

    def _cumulative(self, longest: int) -> NDArray[np.float64]:
        """Cumulative odds of each symbol by length left and state; impossible symbols add none."""
        if len(self._odds) > longest:
            return self._odds
        logs = self._log_counts(longest)
        following = np.full((longest + 1, *self.transitions.shape), -np.inf)
        following[1:] = logs[:longest, self.transitions]
        with np.errstate(invalid="ignore"):
            odds = np.exp(following - logs[: longest + 1, :, None])
        odds = np.cumsum(np.nan_to_num(odds), axis=2)
        odds[odds >= odds[:, :, -1:]] = np.inf  # rounding must not draw an impossible symbol
        self._odds = odds
        return odds
