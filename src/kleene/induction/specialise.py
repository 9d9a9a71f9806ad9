"""Choose among features that agree on all words the one that makes the words most likely.

Where words were drawn class by class, say half of them from a rare language, the words of a class
tell more than their labels do: if every word with three "abc" has three "abcd", the rule is "abcd".
The likelihood of words drawn among those with a value of a feature f is

    product over words of P(word) / P(f has this value)

with P independent symbols, as frequent as among the words with the other value of f, which are
more varied. Where this describes the rarer words in fewer bits than they need on their own, as a
chain of pairs of symbols, they were evidently drawn so. Otherwise nothing is changed: the words do
not tell, and the simplest feature is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from kleene.compiling import njit
from kleene.induction.evidence import Evidence
from kleene.induction.feature_pool import FeaturePool
from kleene.induction.features import Feature, Occurrence

MOST_SYMBOLS = 64
MOST_ROUNDS, PATIENCE = 40, 2
"""Rounds of variations, and how many of them may make the words no likelier."""


class Specialiser:
    """Replaces features of one pool."""

    def __init__(self, pool: FeaturePool) -> None:
        self.pool = pool

    def special(self, feature: Feature, decides: NDArray[np.bool_]) -> Feature:
        """The feature with the same values, for the words it decides, that makes them likeliest."""
        test = feature.test
        if test is None or self.pool.width > MOST_SYMBOLS or not decides.any():
            return feature
        values = self.pool.run([feature])[0]
        if len(set(values[decides].tolist())) < 2:
            return feature
        drawn = Drawn(self.pool.evidence, values, decides)
        best, found, stale = drawn.bits(feature), feature, 0
        seen = {test, *test.equivalents()}
        open_tests = [(drawn.bits(one.feature(self.pool.width)), one) for one in seen]
        for _ in range(MOST_ROUNDS):
            tried: list[tuple[Occurrence, Feature, float]] = []
            for bits, one in _best_of_each_kind(open_tests):
                open_tests.remove((bits, one))
                tried += self._varied(one, bits, seen, values, drawn)
            open_tests += [(bits, one) for one, _, bits in tried]
            stale += 1
            for _, made, bits in tried:
                if bits < best:
                    best, found, stale = bits, made, 0
            if not tried or stale > PATIENCE:
                break
        return found if best < drawn.own_bits else feature

    def _varied(
        self,
        test: Occurrence,
        bits: float,
        seen: set[Occurrence],
        values: NDArray[np.uint8],
        drawn: Drawn,
    ) -> list[tuple[Occurrence, Feature, float]]:
        """The neighbours of a test that agree with the values, and the bits of the words."""
        around = test.neighbours(range(self.pool.width), self.pool.width)
        new = [one for one in dict.fromkeys(around) if one not in seen]
        seen.update(new)
        tried = self._same(new, values, drawn)
        joint = _joint_tier(test, tried, bits)
        if joint is not None and joint not in seen:
            seen.add(joint)
            tried += self._same([joint], values, drawn)
        return tried

    def _same(
        self, tests: list[Occurrence], values: NDArray[np.uint8], drawn: Drawn
    ) -> list[tuple[Occurrence, Feature, float]]:
        """The tests that agree with the values, and the bits of the words."""
        if self.pool.budget.is_spent or not tests:
            return []
        made = [test.feature(self.pool.width) for test in tests]
        same = self.pool.agreeing(made, values, np.flatnonzero(drawn.decides))
        self.pool.budget.work[0] += sum(drawn.cost(made[i]) for i in same)
        return [(tests[i], made[i], drawn.bits(made[i])) for i in same]


def _best_of_each_kind(
    tests: Sequence[tuple[float, Occurrence]],
) -> list[tuple[float, Occurrence]]:
    """The best tests of each kind: a threshold or none, overlaps or none, factors, tiers."""
    found: dict[tuple[bool, ...], tuple[float, Occurrence]] = {}
    for bits, test in tests:
        kind = (test.times > 1, test.overlap, test.is_factor, test.tier is None)
        if kind not in found or bits < found[kind][0]:
            found[kind] = bits, test
    return list(found.values())


def _joint_tier(
    test: Occurrence, tried: Sequence[tuple[Occurrence, Feature, float]], best: float
) -> Occurrence | None:
    """All changes of the tier, by one symbol each, under which the words are likelier, at once."""
    if test.tier is None:
        return None
    changes = [
        one.tier ^ test.tier
        for one, _, bits in tried
        if bits < best and one.tier is not None and one == replace(test, tier=one.tier)
    ]
    return replace(test, tier=test.tier.union(*changes)) if len(changes) > 1 else None


class Drawn:
    """Words drawn among those with a value of a feature; those with the other are the background.

    Only words that the feature decides are looked at.
    """

    def __init__(
        self, evidence: Evidence, values: NDArray[np.uint8], decides: NDArray[np.bool_]
    ) -> None:
        self.decides = decides
        lengths = np.diff(evidence.starts)
        rows = np.where(decides, evidence.counts.sum(1), 0)
        width = len(evidence.alphabet)
        word = np.repeat(np.arange(evidence.num_words), lengths)
        kinds = values[word], evidence.symbols, rows[word]
        counts = np.zeros((2, width))
        np.add.at(counts, kinds[:2], kinds[2])
        shares = (counts + 0.5) / (counts + 0.5).sum(1, keepdims=True)
        self.value = int((shares * np.log2(shares)).sum(1).argmax())  # of the less varied words
        self.shares = shares[1 - self.value]
        self.lengths = np.bincount(lengths, weights=rows) / rows.sum()
        self.rows = float(rows[values == self.value].sum()), float(rows[values != self.value].sum())
        self.symbol_bits = float(-(counts[self.value] * np.log2(self.shares)).sum())
        pairs = np.zeros((width + 1, width))
        first = np.r_[True, word[1:] != word[:-1]] if len(word) else np.zeros(0, bool)
        before = np.where(first, width, np.r_[0, evidence.symbols[:-1]][: len(word)])
        inside = values[word] == self.value
        np.add.at(pairs, (before[inside], evidence.symbols[inside]), kinds[2][inside])
        self.own_bits = adaptive_bits(pairs)
        """Bits of the less varied words as a chain of pairs of symbols."""

    def bits(self, feature: Feature) -> float:
        """Bits of the less varied words, and of the feature."""
        share = value_share(feature.table, feature.values, self.shares, self.lengths)
        ones = share if self.value == 1 else 1 - share
        ones, others = np.log2(np.clip([ones, 1 - ones], 1e-300, 1.0))
        return float(self.symbol_bits + self.rows[0] * ones + self.rows[1] * others + feature.bits)

    def cost(self, feature: Feature) -> int:
        """Look-ups of `bits`."""
        return feature.table.size * len(self.lengths) // 4


def adaptive_bits(counts: NDArray[np.float64]) -> float:
    """Bits of symbols in contexts, (context, symbol), whose shares are learned on the way."""
    width = counts.shape[1]
    total = counts.sum(1)
    nats = gammaln(total + width / 2) - gammaln(width / 2)
    nats -= (gammaln(counts + 0.5) - gammaln(0.5)).sum(1)
    return float(nats.sum() / np.log(2))


@njit(cache=True, nogil=True)
def value_share(table: Any, values: Any, shares: Any, lengths: Any) -> Any:
    """The probability that a word of independent symbols has value 1, over the given lengths."""
    now = np.zeros(len(table))
    now[0] = 1.0
    found = lengths[0] * values[0]
    for n in range(1, len(lengths)):
        after = np.zeros(len(table))
        for s in range(len(table)):
            if now[s] > 0:
                for b in range(len(shares)):
                    after[table[s, b]] += now[s] * shares[b]
        now = after
        for s in range(len(table)):
            if values[s] == 1:
                found += lengths[n] * now[s]
    return found
