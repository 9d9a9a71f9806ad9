"""Rank features that agree on all words by how likely they make the words.

For rows that were drawn class by class, say half of them from a rare language. The words of a class
then tell more than their labels do: if every word with three "abc" has three "abcd", the rule is
"abcd". The likelihood of words drawn among those with a value of a feature f is

    product over words of P(word) / P(f has this value)

with P independent symbols, as frequent as among the words with the other value of f, which are
more varied. If this describes the rarer words in fewer bits than a chain of pairs of symbols does,
they were drawn so. Otherwise the words do not tell, and the simplest feature is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from kleene.induction.evidence import Evidence
from kleene.induction.feature_pool import FeaturePool, Values
from kleene.induction.features import Feature, Occurrence

MAX_SYMBOLS = 64
MAX_ROUNDS, MAX_STALE_ROUNDS = 40, 2
"""Rounds of variations, and how many in a row may make the words no likelier."""


def likeliest(feature: Feature, pool: FeaturePool, decides: NDArray[np.int64]) -> list[Feature]:
    """Features with the same values for the words that this one decides, the likeliest first.

    The best test of every kind is varied in turn. If the words do not tell, the given feature is
    the first.
    """
    test, values = feature.test, pool.run([feature])[0]
    if test is None or pool.width > MAX_SYMBOLS or len(set(values[decides].tolist())) < 2:
        return [feature]
    drawn = DrawnWords(pool.evidence, values, decides)
    best, stale = drawn.bits(feature), 0
    found, seen, waiting = [(best, feature)], {test}, [(best, test)]
    for _ in range(MAX_ROUNDS):
        new: list[Occurrence] = []
        for one in _best_of_each_kind(waiting):
            waiting.remove(one)
            new += one[1].neighbours(range(pool.width), pool.width)
        new = [one for one in dict.fromkeys(new) if one not in seen]
        seen.update(new)
        made = [one.feature(pool.width) for one in new]
        same = [] if pool.budget.is_spent else pool.agreeing(made, values, decides)
        stale += 1
        for i in same:
            pool.budget.work[0] += drawn.cost(made[i])
            bits = drawn.bits(made[i])
            waiting.append((bits, new[i]))
            found.append((bits, made[i]))
            if bits < best:
                best, stale = bits, 0
        if not same or stale > MAX_STALE_ROUNDS:
            break
    ranked = [one for _, one in sorted(found, key=lambda pair: pair[0])]
    return ranked if best < drawn.own_bits else [feature, *ranked]


def _best_of_each_kind(tests: Sequence[tuple[float, Occurrence]]) -> list[tuple[float, Occurrence]]:
    """The best tests of each kind: a threshold or none, overlaps or none, factors, tiers."""
    found: dict[tuple[bool, ...], tuple[float, Occurrence]] = {}
    for bits, test in tests:
        kind = (test.times > 1, test.overlap, test.is_factor, test.tier is None)
        if kind not in found or bits < found[kind][0]:
            found[kind] = bits, test
    return list(found.values())


class DrawnWords:
    """Words drawn among those with a value of a feature; those with the other are the background.

    Only words that the feature decides are looked at.
    """

    def __init__(self, evidence: Evidence, values: Values, decides: NDArray[np.int64]) -> None:
        lengths = np.diff(evidence.starts)
        rows = np.zeros(evidence.num_words)
        rows[decides] = evidence.counts[decides].sum(1)
        width = len(evidence.alphabet)
        word = np.repeat(np.arange(evidence.num_words), lengths)
        counts = np.zeros((2, width))
        np.add.at(counts, (values[word], evidence.symbols), rows[word])
        shares = (counts + 0.5) / (counts + 0.5).sum(1, keepdims=True)
        self.value = int((shares * np.log2(shares)).sum(1).argmax())  # of the less varied words
        self.shares = shares[1 - self.value]
        self.lengths = np.bincount(lengths, weights=rows) / rows.sum()
        self.rows = float(rows[values == self.value].sum()), float(rows[values != self.value].sum())
        self.symbol_bits = float(-(counts[self.value] * np.log2(self.shares)).sum())
        pairs = np.zeros((width + 1, width))
        before = np.r_[width, evidence.symbols[:-1]][: len(word)]
        before[evidence.starts[:-1][lengths > 0]] = width  # the first symbol of a word
        inside = values[word] == self.value
        np.add.at(pairs, (before[inside], evidence.symbols[inside]), rows[word][inside])
        self.own_bits = adaptive_bits(pairs)
        """Bits of the less varied words as a chain of pairs of symbols."""

    def bits(self, feature: Feature) -> float:
        """Bits of the less varied words, and of the feature."""
        share = value_share(feature, self.shares, self.lengths)
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


def value_share(
    feature: Feature, shares: NDArray[np.float64], lengths: NDArray[np.float64]
) -> float:
    """The probability that a word of independent symbols has value 1, over the given lengths."""
    states = feature.num_states
    step = np.zeros((states, states))
    np.add.at(step, (np.arange(states)[:, None], feature.table), shares)
    now, ones, found = np.eye(states)[0], feature.values == 1, 0.0
    for share in lengths:
        found += share * now[ones].sum()
        now = now @ step
    return float(found)
