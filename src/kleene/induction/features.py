"""Small automata that each test one property of a word, for alphabets of a few symbols.

    factor        a factor occurs at least t times, or at the start, or at the end; other symbols
                  than those of a tier are skipped
    subsequence   symbols occur in this order
    sequence      one factor occurs, and later another
    counter       the weights of the symbols, or the occurrences of a factor, summed modulo m

They cover the (tier-based) locally testable, piecewise testable and modular languages; products of
them cover many more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

MOST_TIER_SYMBOLS = 6
"""The largest alphabet all of whose subsets are tried as tiers."""
MOST_WEIGHTS = 300
"""The largest number of different weights of the symbols that are tried in a counter."""


@dataclass(frozen=True, eq=False)
class Feature:
    """A transition table that starts in state 0, and the value of each state."""

    table: NDArray[np.int32]
    values: NDArray[np.int64]

    @property
    def num_states(self) -> int:
        """The number of states."""
        return len(self.table)


def factor(
    word: Sequence[int], tier: Sequence[int], width: int, *, times: int = 1, place: str = ""
) -> Feature:
    """Whether a factor occurs `times` times on a tier, or at the "start" or "end" of it."""
    length = len(word)
    matched = _matching(word, tier, width)
    if place == "end":
        return Feature(matched, (np.arange(length + 1) == length).astype(np.int64))
    if place == "start":
        table = np.tile(np.arange(length + 2, dtype=np.int32)[:, None], (1, width))
        for i, symbol in enumerate(word):
            table[i, list(tier)] = length + 1
            table[i, symbol] = i + 1
        return Feature(table, (np.arange(length + 2) == length).astype(np.int64))
    return _chain([matched] * times)


def subsequence(word: Sequence[int], width: int) -> Feature:
    """Whether symbols occur in this order, others between them."""
    table = np.tile(np.arange(len(word) + 1, dtype=np.int32)[:, None], (1, width))
    for i, symbol in enumerate(word):
        table[i, symbol] = i + 1
    return Feature(table, (np.arange(len(word) + 1) == len(word)).astype(np.int64))


def sequence(first: Sequence[int], second: Sequence[int], width: int) -> Feature:
    """Whether one factor occurs and after its first occurrence another."""
    tier = range(width)
    return _chain([_matching(first, tier, width), _matching(second, tier, width)])


def counter(weights: Sequence[int], modulus: int) -> Feature:
    """The sum of the weights of the symbols, modulo a number."""
    table = (np.arange(modulus)[:, None] + np.array(weights)[None]) % modulus
    return Feature(table.astype(np.int32), np.arange(modulus))


def factor_counter(word: Sequence[int], modulus: int, width: int) -> Feature:
    """The number of occurrences of a factor, modulo a number."""
    length = len(word)
    matched = _matching(word, range(width), width)
    rows = []
    for count in range(modulus):
        base = count * (length + 1)
        row = np.where(matched == length, (base + length + 1) % (modulus * (length + 1)), base)
        rows.append(row + matched)
    values = np.repeat(np.arange(modulus), length + 1)
    return Feature(np.concatenate(rows).astype(np.int32), values)


def features(width: int, most: int) -> list[Feature]:
    """Features over an alphabet, the simplest first, at most so many."""
    found: list[Feature] = []
    for feature in _simplest_first(width):
        if len(found) >= most:
            break
        found.append(feature)
    return found


def _simplest_first(width: int) -> Iterator[Feature]:
    letters = range(width)
    small = width <= MOST_TIER_SYMBOLS
    sizes = range(1, width + 1) if small else (1,)
    sets = [s for size in sizes for s in combinations(letters, size)]
    tiers = [tuple(letters), *(s for s in sets if len(s) < width)]
    for modulus in range(2, 7):
        for weights in _weights(width, modulus, sets):
            yield counter(weights, modulus)
    for length in range(1, 5):
        for tier in tiers:
            if len(tier) < width and length == 4 and len(tier) > 2:
                continue
            for word in product(tier, repeat=length):
                yield factor(word, tier, width)
                if length < 4:
                    yield factor(word, tier, width, place="start")
                    yield factor(word, tier, width, place="end")
                if length < 4:
                    yield factor(word, tier, width, times=2)
                if length < 3:
                    yield factor(word, tier, width, times=3)
        if length > 1:
            for word in product(letters, repeat=length):
                yield subsequence(word, width)
        if length == 2:
            for modulus in (2, 3, 4):
                for word in product(letters, repeat=2):
                    yield factor_counter(word, modulus, width)
        if length == 3:
            for one, two in product(range(1, 3), repeat=2):
                if one + two > 2:
                    for word in product(letters, repeat=one + two):
                        yield sequence(word[:one], word[one:], width)


def _weights(
    width: int, modulus: int, sets: Sequence[tuple[int, ...]]
) -> Iterator[tuple[int, ...]]:
    """Weights of the symbols: all of them where they are few, else 1 for the symbols of a set."""
    if modulus**width > MOST_WEIGHTS:
        yield (1,) * width
        yield from (tuple(int(i in chosen) for i in range(width)) for chosen in sets)
        return
    for weights in product(range(modulus), repeat=width):
        first = next((weight for weight in weights if weight), 0)
        if first and modulus % first == 0:  # others are the same up to the names of the values
            yield weights


def _matching(word: Sequence[int], tier: Sequence[int], width: int) -> NDArray[np.int32]:
    """The automaton of Knuth, Morris and Pratt: how much of a word has just been read."""
    length = len(word)
    table = np.tile(np.arange(length + 1, dtype=np.int32)[:, None], (1, width))
    for state in range(length + 1):
        for symbol in tier:
            read = (*word[:state], symbol)
            table[state, symbol] = next(
                k
                for k in range(min(len(read), length), -1, -1)
                if read[len(read) - k :] == tuple(word[:k])
            )
    return table


def _chain(parts: Sequence[NDArray[np.int32]]) -> Feature:
    """One matching automaton after the other; the last state is kept for good."""
    rows, base = [], 0
    for part in parts:
        rows.append(part[:-1] + base)  # its last state is the first of the next part
        base += len(part) - 1
    rows.append(np.full((1, parts[0].shape[1]), base))
    table = np.concatenate(rows).astype(np.int32)
    return Feature(table, (np.arange(len(table)) == base).astype(np.int64))
