"""Weights of the symbols whose sum modulo a prime is the same for all words of a class.

Over wide alphabets the weights cannot be tried one by one. But each word of the class is a linear
equation: its numbers of symbols, times the unknown weights, are the unknown sum. Gaussian
elimination modulo the prime solves them. Subsets of the words are solved, too, since a single wrong
label spoils the equations it is in.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kleene.induction.evidence import Evidence
from kleene.induction.features import Feature, counter

PRIMES = (2, 3, 5, 7)
SUBSETS, MORE = 12, 24
"""Subsets of the words of a class, and how many more words they have than there are unknowns."""
MOST_SOLUTIONS = 3
"""Independent solutions that are used; more of them say that there are too few words."""


def weighted_counters(evidence: Evidence, seed: int = 0) -> Iterator[Feature]:
    """Counters whose value is the same for all, or nearly all, words of a class."""
    width = len(evidence.alphabet)
    numbers = np.zeros((evidence.num_words, width + 1), dtype=np.int64)
    word = np.repeat(np.arange(evidence.num_words), np.diff(evidence.starts))
    np.add.at(numbers, (word, evidence.symbols), 1)
    numbers[:, -1] = 1
    random = np.random.default_rng(seed)
    size = width + 1 + MORE
    for c in range(len(evidence.classes)):
        rows = numbers[evidence.counts.argmax(1) == c]
        if len(rows) < size:
            continue
        for prime in PRIMES:
            for _ in range(SUBSETS):
                chosen = random.permutation(len(rows))[:size]
                solutions = null_space(rows[chosen], prime)
                if 0 < len(solutions) <= MOST_SOLUTIONS:
                    yield from (counter(one[:-1].tolist(), prime) for one in solutions)
                    break


def null_space(rows: NDArray[np.int64], prime: int) -> NDArray[np.int64]:
    """A basis of the vectors that are 0 modulo the prime with every row."""
    left = rows % prime
    pivots: list[int] = []
    for column in range(left.shape[1]):
        done = len(pivots)
        found = np.flatnonzero(left[done:, column])
        if not len(found):
            continue
        at = done + int(found[0])
        left[[done, at]] = left[[at, done]]
        left[done] = left[done] * pow(int(left[done, column]), -1, prime) % prime
        others = np.arange(len(left)) != done
        left[others] = (left[others] - left[others, column, None] * left[done]) % prime
        pivots.append(column)
        if len(pivots) == len(left):
            break
    free = [column for column in range(left.shape[1]) if column not in pivots]
    basis = np.zeros((len(free), left.shape[1]), dtype=np.int64)
    for i, column in enumerate(free):
        basis[i, column] = 1
        basis[i, pivots] = -left[: len(pivots), column] % prime
    return basis
