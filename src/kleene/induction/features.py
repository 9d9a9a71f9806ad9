"""Small automata that each test one property of a word.

    occurrence    factors occur one after the other, one factor at least t times, at the start, or
                  at the end; symbols outside a tier are skipped. Factors of one symbol each make a
                  subsequence
    counter       the weights of the symbols, summed modulo m

They cover the (tier-based) locally testable, piecewise testable and modular languages; products of
them cover many more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import comb, log2

import numpy as np
from numpy.typing import NDArray

from kleene.induction.evidence import Evidence

MAX_TIER_SYMBOLS = 6
"""The largest alphabet all of whose subsets are tried as tiers."""
MAX_FACTOR, MAX_BLOCKS, MAX_SYMBOLS = 6, 6, 12
"""The most symbols of a factor that is repeated, and the most factors and symbols of any test."""
MAX_TIMES = 6
"""How often a factor may be asked for."""

PRIMES = (2, 3, 5, 7)
SUBSETS, MORE_WORDS = 12, 24
"""Subsets of the words of a class, and how many more words they have than there are unknowns."""
MAX_SOLUTIONS = 3
"""Independent solutions that are used; more of them say that there are too few words."""


@dataclass(frozen=True, eq=False)
class Feature:
    """A transition table that starts in state 0, the value of each state, and the bits it costs."""

    table: NDArray[np.int32]
    values: NDArray[np.int64]
    bits: float
    test: Occurrence | None = None
    """What the table tests; None for a counter."""

    @property
    def num_states(self) -> int:
        """The number of states."""
        return len(self.table)

    @property
    def num_values(self) -> int:
        """The number of values."""
        return int(self.values.max()) + 1


@dataclass(frozen=True)
class Occurrence:
    """Whether symbols occur in this order.

    `joined` says of each symbol but the last whether the next one follows at once; `tier` names the
    symbols that are not skipped, None all of them. With all symbols joined, the factor may be asked
    for at least `times` times, or at the "start" or "end". "ababab" has "abab" twice if occurrences
    may `overlap`, else once.
    """

    word: tuple[int, ...]
    joined: tuple[bool, ...]
    tier: frozenset[int] | None = None
    times: int = 1
    place: str = ""
    overlap: bool = True

    def __post_init__(self) -> None:
        if self.times == 1 or not self.is_factor or self.period == len(self.word):
            object.__setattr__(self, "overlap", True)  # it makes no difference

    @classmethod
    def factor(
        cls,
        word: Sequence[int],
        tier: Iterable[int] | None = None,
        *,
        times: int = 1,
        place: str = "",
        overlap: bool = True,
    ) -> Occurrence:
        """Symbols that follow each other at once, on a tier."""
        symbols = None if tier is None else frozenset(tier)
        return cls(tuple(word), (True,) * (len(word) - 1), symbols, times, place, overlap)

    @classmethod
    def subsequence(cls, word: Sequence[int]) -> Occurrence:
        """Symbols in this order, any others between them."""
        return cls(tuple(word), (False,) * (len(word) - 1))

    @property
    def is_factor(self) -> bool:
        """Whether all symbols follow each other at once."""
        return all(self.joined)

    @property
    def period(self) -> int:
        """By how many places the word is shifted where it first overlaps itself."""
        word = self.word
        return next(p for p in range(1, len(word) + 1) if word[p:] == word[: len(word) - p])

    def blocks(self) -> list[tuple[int, ...]]:
        """The factors that occur one after the other."""
        found: list[list[int]] = [[self.word[0]]]
        for symbol, joined in zip(self.word[1:], self.joined, strict=True):
            if joined:
                found[-1].append(symbol)
            else:
                found.append([symbol])
        return [tuple(block) for block in found]

    @property
    def is_short(self) -> bool:
        """Whether it is within the limits of the search."""
        return len(self.blocks()) <= MAX_BLOCKS and len(self.word) <= MAX_SYMBOLS

    def feature(self, width: int) -> Feature:
        """The automaton of this test over an alphabet."""
        bits = 3 + word_bits(self.word, width) + 2 * log2(self.times) + (not self.overlap)
        skipped: list[int] = []
        if self.tier is not None:
            bits += log2(width) + log2(comb(width, len(self.tier)))
            skipped = [symbol for symbol in range(width) if symbol not in self.tier]
        if self.place == "start":
            table, value = _prefix(self.word, width)
        elif self.place == "end":
            table = _matching(self.word, width)
            value = len(self.word)
        else:
            parts = self.blocks() if not self.is_factor else [self.word] * self.times
            overlap = self.is_factor and self.overlap
            table = _chain([_matching(part, width) for part in parts], overlap=overlap)
            value = len(table) - 1
        table[:, skipped] = np.arange(len(table), dtype=np.int32)[:, None]
        return Feature(table, (np.arange(len(table)) == value).astype(np.int64), bits, self)

    def neighbours(self, letters: Sequence[int], width: int) -> Iterator[Occurrence]:
        """Tests that differ in one symbol, joint, tier symbol, threshold, place or repetition."""
        yield from (one for one in self._changes(letters, width) if one.is_short)

    def _changes(self, letters: Sequence[int], width: int) -> Iterator[Occurrence]:
        yield from self._words(letters)
        for i in range(len(self.joined)):
            if self.times == 1 and not self.place:
                changed = replace(self, joined=_with(self.joined, i, not self.joined[i]))
                yield changed
                if self.tier is None and not self.joined[i]:
                    yield replace(changed, tier=frozenset(self.word))
        if self.is_factor:
            for place in ("", "start", "end"):
                if self.times == 1 and place != self.place:
                    yield replace(self, place=place)
            for times in (self.times - 1, self.times + 1):
                if 1 <= times <= MAX_TIMES and not self.place:
                    yield replace(self, times=times)
            if not self.place:
                yield replace(self, overlap=not self.overlap)
                yield from self._repetitions()
            if len(self.word) == 1 < self.times < MAX_BLOCKS:
                # it is also a subsequence, which can grow
                same = Occurrence.subsequence(self.word * self.times)
                yield from (one for one in same._words(letters) if not any(one.joined))
        if any(self.joined) or self.place:
            yield from self._tiers(width)

    def _repetitions(self) -> Iterator[Occurrence]:
        """The same symbols, repeated more or less often in the factor, or the factor itself.

        Three "aa" are "aaaa", or two "aa" and more; six "ab" may be three "abab" that do not
        overlap; one "aaaa" has "aaa" twice. One change at a time does not lead there.
        """
        size, period = len(self.word), self.period
        for length in range(size % period or period, MAX_FACTOR + 1, period):
            word = tuple(self.word[i % period] for i in range(length))
            for times, overlap in product(range(1, MAX_TIMES + 1), (True, False)):
                other = replace(self, word=word, joined=(True,) * (length - 1), times=times,
                                overlap=overlap)  # fmt: skip
                as_often = not overlap and times * (length - size + period) == self.times * period
                if as_often or abs(other.symbols - self.symbols) <= period:
                    yield other
                    if length > size and self.tier is None:
                        yield replace(other, tier=frozenset(word))

    @property
    def symbols(self) -> int:
        """How many symbols a word needs to have a repeated factor."""
        size = len(self.word)
        return size + (self.times - 1) * (self.period if self.overlap else size)

    def _words(self, letters: Sequence[int]) -> Iterator[Occurrence]:
        size = len(self.word)
        for i in range(size):
            for symbol in letters:
                if symbol != self.word[i]:
                    yield self._on_tier(_with(self.word, i, symbol), self.joined)
            if size > 1:
                left = self.joined[: max(i - 1, 0)]
                right = self.joined[i + 1 :]
                middle = (self.joined[i - 1] and self.joined[i],) if 0 < i < size - 1 else ()
                yield self._on_tier((*self.word[:i], *self.word[i + 1 :]), (*left, *middle, *right))
        whole = self.times > 1 or bool(self.place)
        for i in range(size + 1):
            sides = [(True,), (False,)] if i in (0, size) else [(True, False), (False, True)]
            if 0 < i < size:
                sides = [(True, True)] if self.joined[i - 1] else [(False, False), *sides]
            for symbol in letters:
                for side in sides:
                    if all(side) or not whole:
                        kept = self.joined[: max(i - 1, 0)], self.joined[i:]
                        yield self._on_tier(
                            (*self.word[:i], symbol, *self.word[i:]), (*kept[0], *side, *kept[1])
                        )

    def _on_tier(self, word: tuple[int, ...], joined: tuple[bool, ...]) -> Occurrence:
        tier = None if self.tier is None else self.tier | set(word)
        if not any(joined) and not self.place and self.times == 1:
            tier = None
        return replace(self, word=word, joined=joined, tier=tier)

    def _tiers(self, width: int) -> Iterator[Occurrence]:
        tier = frozenset(range(width)) if self.tier is None else self.tier
        if self.tier is None:
            yield replace(self, tier=frozenset(self.word))
        for symbol in range(width):
            if symbol not in self.word:
                changed = tier ^ {symbol}
                yield replace(self, tier=None if len(changed) == width else changed)


def word_bits(word: Sequence[int], width: int) -> float:
    """Bits of the symbols of a word; those that occurred before may be named by their place."""
    bits, seen = 0.0, {word[0]}
    for symbol in word[1:]:
        bits += 1 + log2(len(seen) if symbol in seen else width)
        seen.add(symbol)
    return log2(width) + min(bits, (len(word) - 1) * log2(width))


def counter(weights: Sequence[int], modulus: int) -> Feature:
    """The sum of the weights of the symbols, modulo a number."""
    table = (np.arange(modulus)[:, None] + np.array(weights)[None]) % modulus
    bits = 3 + len(weights) * log2(modulus)
    return Feature(table.astype(np.int32), np.arange(modulus), bits)


def counters(width: int) -> Iterator[Feature]:
    """How many symbols of a set there are, modulo small numbers."""
    sizes = range(1, width + 1) if width <= MAX_TIER_SYMBOLS else (1, width)
    for modulus in range(2, 7):
        for size in sizes:
            for chosen in combinations(range(width), size):
                yield counter([int(i in chosen) for i in range(width)], modulus)


def weighted_counters(evidence: Evidence, seed: int = 0) -> Iterator[Feature]:
    """Counters whose value is the same for all, or nearly all, words of a class.

    Each word of the class is a linear equation: its numbers of symbols, times the unknown weights,
    are the unknown sum. Gaussian elimination modulo the prime solves them. Subsets of the words are
    solved, since a single wrong label spoils the equations.
    """
    width = len(evidence.alphabet)
    numbers = np.zeros((evidence.num_words, width + 1), dtype=np.int64)
    word = np.repeat(np.arange(evidence.num_words), np.diff(evidence.starts))
    np.add.at(numbers, (word, evidence.symbols), 1)
    numbers[:, -1] = 1
    random = np.random.default_rng(seed)
    size = width + 1 + MORE_WORDS
    for c in range(len(evidence.classes)):
        rows = numbers[evidence.counts.argmax(1) == c]
        if len(rows) < size:
            continue
        for prime in PRIMES:
            for _ in range(SUBSETS):
                chosen = random.permutation(len(rows))[:size]
                solutions = null_space(rows[chosen], prime)
                if 0 < len(solutions) <= MAX_SOLUTIONS:
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


def _matching(word: Sequence[int], width: int) -> NDArray[np.int32]:
    """The automaton of Knuth, Morris and Pratt: how much of a word has just been read."""
    table = np.zeros((len(word) + 1, width), dtype=np.int32)
    table[0, word[0]] = 1
    border = 0
    for state in range(1, len(word) + 1):
        table[state] = table[border]
        if state < len(word):
            table[state, word[state]] = state + 1
            border = int(table[border, word[state]])
    return table


def _prefix(word: Sequence[int], width: int) -> tuple[NDArray[np.int32], int]:
    """A word at the start, and the state that says so."""
    length = len(word)
    table = np.full((length + 2, width), length + 1, dtype=np.int32)
    for i, symbol in enumerate(word):
        table[i, symbol] = i + 1
    table[length] = length
    return table, length


def _chain(parts: Sequence[NDArray[np.int32]], *, overlap: bool) -> NDArray[np.int32]:
    """One matching automaton after the other; the last state is kept for good.

    With `overlap` the parts are equal, and what ends one match may begin the next.
    """
    rows, base = [], 0
    for index, part in enumerate(parts):
        length, last = len(part) - 1, index + 1 == len(parts)
        border = _border(part) if overlap and not last else 0
        rows.append(np.where(part[:-1] == length, base + length + border, base + part[:-1]))
        base += length
    rows.append(np.full((1, parts[0].shape[1]), base))
    return np.concatenate(rows).astype(np.int32)


def _border(matched: NDArray[np.int32]) -> int:
    """How much of a word has been read again when all of it has been read."""
    rows = matched.tolist()
    return next(k for k in range(len(rows) - 2, -1, -1) if rows[k] == rows[-1] or k == 0)


def _with(values: tuple, place: int, value: object) -> tuple:  # type: ignore[type-arg]
    return (*values[:place], value, *values[place + 1 :])
