"""Features with their values for all words: simple ones first, others found step by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from math import inf

import numpy as np
from numpy.typing import NDArray

from kleene.induction.evidence import Evidence
from kleene.induction.features import (
    MAX_FACTOR,
    MAX_TIER_SYMBOLS,
    MAX_TIMES,
    Feature,
    Occurrence,
    counters,
    weighted_counters,
)
from kleene.induction.kernels import rank_features, run_features
from kleene.induction.search import Budget

Values = NDArray[np.uint8]

MIN_GAIN = 0.5
"""Bits that a step of a variation must save."""
MAX_STEPS = 40
FIRST_WORDS = (8, 64, 512)
"""Numbers of words after which features that disagree are left out."""
MAX_FACTORS, MAX_LETTERS, MAX_PAIRED = 150, 10, 40
"""Over larger alphabets: factors of each length, symbols of a step, symbols of all pairs."""


class FeaturePool:
    """Features that differ on the words, and their values, (feature, word)."""

    def __init__(self, evidence: Evidence, budget: Budget) -> None:
        self.evidence, self.budget = evidence, budget
        self.width = len(evidence.alphabet)
        self._known: dict[bytes, tuple[Feature, Values]] = {}
        self.add(counters(self.width))
        self.add(weighted_counters(evidence))
        self.add(test.feature(self.width) for test in self._simple())

    @property
    def bits(self) -> NDArray[np.float64]:
        """What each feature costs."""
        return np.array([feature.bits for feature in self.features])

    def rank(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Bits of the classes if the cells were divided by each feature of the pool."""
        return self._class_bits(cells, self.values, [one.num_values for one in self.features])

    def class_bits(self, cells: NDArray[np.int64]) -> float:
        """Bits of the classes of all words in their cells."""
        return float(self._class_bits(cells, self.values[:1] * 0, [1])[0])

    def _class_bits(
        self, cells: NDArray[np.int64], values: Values, sizes: Sequence[int]
    ) -> NDArray[np.float64]:
        words, work, count = self.evidence.arrays, self.budget.work, int(cells.max()) + 1
        bits: NDArray[np.float64] = rank_features(
            cells, count, values, np.array(sizes, dtype=np.int64), words, work
        )
        return bits

    def add(self, given: Iterable[Feature]) -> None:
        """Add features; of those with equal values the simplest is kept."""
        features = list(given)
        for feature, row in zip(features, self.run(features), strict=True):
            if row.min() == row.max():
                continue
            key = (row ^ row[0] if feature.values.max() == 1 else row).tobytes()
            if key not in self._known or feature.bits < self._known[key][0].bits:
                self._known[key] = feature, row
        self.features = [feature for feature, _ in self._known.values()]
        rows = [row for _, row in self._known.values()]
        self.values = np.array(rows, np.uint8).reshape(-1, self.evidence.num_words)

    def run(self, given: list[Feature], chosen: NDArray[np.int64] | None = None) -> Values:
        """The values of features for all words, or for the chosen ones."""
        if chosen is None:
            chosen = np.arange(self.evidence.num_words)
        values = np.empty((len(given), len(chosen)), np.uint8)
        offsets = np.cumsum([0, *(feature.num_states for feature in given)])
        tables = np.concatenate([np.zeros((0, self.width), np.int32), *(f.table for f in given)])
        outputs = np.concatenate([np.zeros(0, np.int64), *(f.values for f in given)])
        words, work = self.evidence.arrays, self.budget.work
        run_features(tables, offsets, outputs, words, chosen, values, work)
        return values

    def agreeing(
        self, given: list[Feature], values: Values, chosen: NDArray[np.int64]
    ) -> list[int]:
        """Which features have the given values for the chosen words.

        A few words are tried first; they sort out most features.
        """
        left = np.arange(len(given))
        for part in np.split(chosen, FIRST_WORDS):
            found = self.run([given[i] for i in left], part)
            left = left[(found == values[part]).all(1)]
        return [int(i) for i in left]

    def climb(self, cells: NDArray[np.int64], letters: Sequence[int], place: int) -> None:
        """Vary a feature as long as classes and feature take fewer bits; add the last one."""
        test = self.features[place].test
        if test is None:
            return
        best, seen, tried = inf, {test}, [test]
        for _ in range(MAX_STEPS):
            tried += [one for one in test.neighbours(letters, self.width) if one not in seen]
            if not tried or self.budget.is_spent:
                break
            seen.update(tried)
            scores = self._scores(cells, tried)
            least = int(scores.argmin())
            if scores[least] > best - MIN_GAIN:
                break
            test, best, tried = tried[least], float(scores[least]), []
        self.add([test.feature(self.width)])

    def _scores(self, cells: NDArray[np.int64], tests: list[Occurrence]) -> NDArray[np.float64]:
        """Bits of the classes in the cells divided by each test, and of the test."""
        made = [test.feature(self.width) for test in tests]
        bits = np.array([feature.bits for feature in made])
        scores = self._class_bits(cells, self.run(made), [2] * len(made))
        return np.asarray(scores + bits)

    def letters(self, cells: NDArray[np.int64], count: int = MAX_LETTERS) -> list[int]:
        """The symbols whose presence tells most; all of a small alphabet."""
        if self.width <= count:
            return list(range(self.width))
        tests = [Occurrence.factor((symbol,)) for symbol in range(self.width)]
        order = np.argsort(self._scores(cells, tests), kind="stable")[:count]
        return [int(symbol) for symbol in order]

    def _simple(self) -> Iterator[Occurrence]:
        if self.width <= MAX_TIER_SYMBOLS:
            yield from small_alphabet(self.width)
            return
        for length in range(1, MAX_FACTOR + 1):
            for word in telling_factors(self.evidence, length):
                yield Occurrence.factor(word)
                if length <= 2:
                    yield Occurrence.factor(word, place="start")
                    yield Occurrence.factor(word, place="end")
                    for times in range(2, MAX_TIMES):
                        yield Occurrence.factor(word, times=times)
        cells = np.zeros(self.evidence.num_words, dtype=np.int64)
        for pair in product(self.letters(cells, MAX_PAIRED), repeat=2):
            yield Occurrence.subsequence(pair)


def small_alphabet(width: int) -> Iterator[Occurrence]:
    """All short factors on all tiers, with thresholds and places, and short subsequences."""
    letters = range(width)
    for length in range(1, 5):
        for size in range(1, width + 1):
            if length == 4 and size < width:
                continue
            for tier in combinations(letters, size):
                for word in product(tier, repeat=length):
                    on = None if size == width else tier
                    if length == 1 and size < width:
                        yield Occurrence.factor(word, on, place="start")
                        yield Occurrence.factor(word, on, place="end")
                        continue
                    yield Occurrence.factor(word, on)
                    if length < 4:
                        yield Occurrence.factor(word, on, place="start")
                        yield Occurrence.factor(word, on, place="end")
                        for times in range(2, MAX_TIMES + 1 if length < 3 else 3):
                            yield Occurrence.factor(word, on, times=times)
        if length > 1:
            for word in product(letters, repeat=length):
                yield Occurrence.subsequence(word)


def telling_factors(evidence: Evidence, length: int) -> list[tuple[int, ...]]:
    """The factors of a length whose presence tells most about the class."""
    width, total = len(evidence.alphabet), evidence.counts.sum(0)
    word = np.repeat(np.arange(evidence.num_words), np.diff(evidence.starts))
    symbols = evidence.symbols.astype(np.int64)
    count = len(symbols) - length + 1
    if count <= 0 or width**length > 2**62 // max(evidence.num_words, 1):
        return []
    keys = sum(symbols[i : i + count] * width ** (length - 1 - i) for i in range(length))
    whole = word[:count] == word[length - 1 :]
    pairs = np.unique(keys[whole] * evidence.num_words + word[:count][whole])
    found, place = np.unique(pairs // evidence.num_words, return_inverse=True)
    votes = np.zeros((len(found), len(total)), dtype=np.int64)
    np.add.at(votes, place, evidence.counts[pairs % evidence.num_words])
    logs = evidence.log_factorials

    def code(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        bits: NDArray[np.float64] = logs[rows.sum(1) + len(total) - 1] - logs[rows].sum(1)
        return bits

    order = np.argsort(code(votes) + code(total - votes), kind="stable")[:MAX_FACTORS]
    digits = [found[order] // width ** (length - 1 - i) % width for i in range(length)]
    return [tuple(map(int, symbols)) for symbols in zip(*digits, strict=True)]
