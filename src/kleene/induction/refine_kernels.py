"""The search behind `mend`: thousands of small changes to a table a second, compiled."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]

MOST_WORK = 3e9
"""Table look-ups that one kind of change may take; larger machines are left as they are."""


@numba.njit(cache=True, nogil=True)
def _endings(table: Any, initial: Any, symbols: Any, ends: Any, out: Any) -> None:
    start = 0
    for i in range(len(ends)):
        state = initial
        for t in range(start, ends[i]):
            state = table[state, symbols[t]]
        out[i] = state
        start = ends[i]


@numba.njit(cache=True, nogil=True)
def _errors(table: Any, initial: Any, symbols: Any, ends: Any, counts: Any, votes: Any) -> Any:
    """Words that the majority labels get wrong."""
    states, classes = votes.shape
    votes[:] = 0
    start = 0
    for i in range(len(ends)):
        state = initial
        for t in range(start, ends[i]):
            state = table[state, symbols[t]]
        for c in range(classes):
            votes[state, c] += counts[i, c]
        start = ends[i]
    wrong = 0
    for s in range(states):
        total, most = 0, 0
        for c in range(classes):
            total += votes[s, c]
            most = max(most, votes[s, c])
        wrong += total - most
    return wrong


@numba.njit(cache=True, nogil=True)
def _sweep(
    table: Any,
    initial: Any,
    symbols: Any,
    ends: Any,
    counts: Any,
    votes: Any,
    order: Any,
    least: Any,
    margin: Any,
) -> Any:
    """Try every other target of every transition; keep what saves at least `margin` errors."""
    states, width = table.shape
    for o in order:
        s, a = o // width, o % width
        old = table[s, a]
        best, fewest = old, least - margin + 1
        for t in range(states):
            if t == old:
                continue
            table[s, a] = t
            wrong = _errors(table, initial, symbols, ends, counts, votes)
            if wrong < fewest:
                fewest, best = wrong, t
        table[s, a] = best
        if best != old:
            least = fewest
        if least == 0:
            break
    return least


@numba.njit(cache=True, nogil=True)
def _split(
    table: Any,
    initial: Any,
    symbols: Any,
    ends: Any,
    counts: Any,
    votes: Any,
    order: Any,
    least: Any,
) -> Any:
    """Give one transition a copy of its target (the last row), and let one of its own differ."""
    states, width = table.shape
    clone = states - 1
    found = least
    best_s, best_a, best_b, best_t = -1, -1, -1, -1
    for o in order:
        s, a = o // width, o % width
        if s == clone:
            continue
        target = table[s, a]
        table[clone] = table[target]
        table[s, a] = clone
        wrong = _errors(table, initial, symbols, ends, counts, votes)
        if wrong < found:
            found, best_s, best_a, best_b, best_t = wrong, s, a, 0, table[target, 0]
        for b in range(width):
            old = table[clone, b]
            for t in range(states):
                if t == old:
                    continue
                table[clone, b] = t
                wrong = _errors(table, initial, symbols, ends, counts, votes)
                if wrong < found:
                    found, best_s, best_a, best_b, best_t = wrong, s, a, b, t
            table[clone, b] = old
        table[s, a] = target
    if best_s >= 0:
        table[clone] = table[table[best_s, best_a]]
        table[best_s, best_a] = clone
        table[clone, best_b] = best_t
    return found


def endings(table: Ints, initial: int, symbols: Ints, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The state in which each word ends."""
    out = np.zeros(len(ends), dtype=np.int64)
    _endings(np.ascontiguousarray(table, dtype=np.int32), initial, symbols, ends, out)
    return out


class _Search:
    def __init__(
        self, symbols: Ints, ends: NDArray[np.int64], counts: Ints, seed: int, tolerant: bool
    ) -> None:
        self.words, self.tolerant = (symbols, ends, counts), tolerant
        self.total = int(counts.sum())
        self.random = np.random.default_rng(seed)

    def affords(self, machines: int) -> bool:
        """Whether so many machines can be run over all words in a few seconds."""
        return machines * len(self.words[0]) <= MOST_WORK

    def errors(self, table: Ints, initial: int) -> int:
        votes = np.zeros((len(table), self.words[2].shape[1]), dtype=np.int64)
        return int(_errors(table, initial, *self.words, votes))

    def bits(self, table: Ints, errors: int) -> float:
        from kleene.induction.refine import describe_bits, noisy_bits

        bits = noisy_bits if self.tolerant else describe_bits
        return bits(len(table), table.shape[1], errors, self.total)

    def margin(self, table: Ints, errors: int) -> int:
        """How many errors a change of one transition must save: twice what it costs to name it."""
        from kleene.induction.refine import error_bits

        if not self.tolerant:
            return 1
        named = np.log2(max(table.size * len(table), 2))
        return int(np.ceil(2 * named / error_bits(errors, self.total)))

    def sweep(self, table: Ints, initial: int, errors: int) -> int:
        votes = np.zeros((len(table), self.words[2].shape[1]), dtype=np.int64)
        order = self.random.permutation(table.size)
        margin = self.margin(table, errors)
        return int(_sweep(table, initial, *self.words, votes, order, errors, margin))

    def split(self, table: Ints, initial: int, errors: int) -> tuple[Ints, int]:
        larger = np.concatenate([table, table[:1]])
        votes = np.zeros((len(larger), self.words[2].shape[1]), dtype=np.int64)
        order = self.random.permutation(table.size)
        return larger, int(_split(larger, initial, *self.words, votes, order, errors))

    def merge(self, table: Ints, initial: int, errors: int) -> tuple[Ints, int, int]:
        """Merge pairs of states as long as that shortens the description."""
        cost = self.bits(table, errors)
        again = self.affords(len(table) ** 2)
        while again and len(table) > 1:
            again = False
            for gone in self.random.permutation(len(table)):
                for kept in range(len(table)):
                    if kept == gone:
                        continue
                    smaller, start = drop(np.where(table == gone, kept, table), initial, gone, kept)
                    wrong = self.errors(smaller, start)
                    if self.bits(smaller, wrong) < cost:
                        table, initial, errors = smaller, start, wrong
                        cost, again = self.bits(table, errors), True
                        break
                if again:
                    break
        return table, initial, errors


def drop(table: Ints, initial: int, gone: int, kept: int) -> tuple[Ints, int]:
    """The table without a state that nothing leads to any more."""
    renumber = np.arange(len(table)) - (np.arange(len(table)) > gone)
    initial = kept if initial == gone else initial
    return renumber[np.delete(table, gone, 0)].astype(np.int32), int(renumber[initial])


def improve(
    table: Ints,
    initial: int,
    symbols: Ints,
    ends: NDArray[np.int64],
    counts: Ints,
    *,
    seed: int,
    rounds: int,
    tolerant: bool = False,
) -> tuple[Ints, int]:
    """Sweeps, merges and splits until the description of machine and errors gets no shorter.

    `tolerant` counts on wrong labels.
    """
    search = _Search(symbols, ends, counts, seed, tolerant)
    table = np.ascontiguousarray(table, dtype=np.int32).copy()
    errors = search.errors(table, initial)
    for _ in range(rounds):
        before = search.bits(table, errors)
        if errors and search.affords(table.size * len(table)):
            errors = search.sweep(table, initial, errors)
        table, initial, errors = search.merge(table, initial, errors)
        if errors and search.affords(table.size**2 * len(table)):
            larger, fewer = search.split(table, initial, errors)
            if search.bits(larger, fewer) < search.bits(table, errors):
                table, errors = larger, fewer
        if search.bits(table, errors) >= before:
            break
    return table, initial
