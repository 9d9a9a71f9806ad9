"""Choose among features that agree on all words the one that makes the words most likely.

Where words were drawn class by class, say half of them from a rare language, the words of a class
tell more than their labels do: if every word with three "abc" has three "abcd", the rule is "abcd".
The likelihood of words drawn among those with a value of a feature f is

    product over words of P(word) / P(f has this value)

with P a chain of pairs of symbols, counted in all words. Where words were drawn first and labelled
afterwards, P(f has this value) is just the share of the words with this value; then nothing is
changed, since the words do not tell, and the simplest feature is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.compiling import njit
from kleene.induction.feature_pool import FeaturePool
from kleene.induction.features import Feature, Occurrence

MOST_SYMBOLS = 64
LEAST_SURPRISE = 0.25
"""Bits a word by which its class must be rarer than the share of its class."""
MOST_STEPS = 24


class Specialiser:
    """Replaces features of one pool; the chain of pairs is counted once."""

    def __init__(self, pool: FeaturePool) -> None:
        self.pool, width, evidence = pool, pool.width, pool.evidence
        weights = evidence.counts.sum(1)
        lengths = np.diff(evidence.starts)
        self.lengths = np.bincount(lengths, weights=weights) / weights.sum()
        self.start = np.full(width, 0.5)
        self.pairs = np.full((width, width), 0.5)
        word = np.repeat(np.arange(evidence.num_words), lengths)
        symbols = evidence.symbols
        inside = word[1:] == word[:-1]
        np.add.at(
            self.pairs, (symbols[:-1][inside], symbols[1:][inside]), weights[word[1:][inside]]
        )
        first = evidence.starts[:-1][lengths > 0]
        np.add.at(self.start, symbols[first], weights[lengths > 0])
        self.pairs /= self.pairs.sum(1, keepdims=True)
        self.start /= self.start.sum()

    def saved_bits(self, feature: Feature, values: NDArray[np.uint8]) -> float:
        """Bits saved if the words are drawn among those with their value of a feature."""
        share = chain_share(feature.table, feature.values, self.start, self.pairs, self.lengths)
        rows = self.pool.evidence.counts.sum(1)
        ones = float(rows[values == 1].sum())
        shares = np.clip([1 - share, share], 1e-300, 1.0)
        return float(-(rows.sum() - ones) * np.log2(shares[0]) - ones * np.log2(shares[1]))

    def special(self, feature: Feature, test: Occurrence | None) -> Feature:
        """The feature with the same values under which the words are most likely."""
        if test is None or self.pool.width > MOST_SYMBOLS:
            return feature
        values = self.pool.run([feature])[0]
        rows = self.pool.evidence.counts.sum(1)
        share = float(rows[values == 1].sum() / rows.sum())
        entropy = -sum(p * np.log2(p) for p in (share, 1 - share) if p > 0)
        saved = self.saved_bits(feature, values)
        if saved < rows.sum() * (entropy + LEAST_SURPRISE):
            return feature
        best = saved - feature.bits
        letters = range(self.pool.width)
        seen = {test}
        for _ in range(MOST_STEPS):
            tried = [one for one in test.neighbours(letters, self.pool.width) if one not in seen]
            seen.update(tried)
            made = [one.feature(self.pool.width) for one in tried]
            if self.pool.budget.is_spent or not made:
                break
            same = np.flatnonzero((self.pool.run(made) == values).all(1)).tolist()
            gains = [self.saved_bits(made[i], values) - made[i].bits for i in same]
            if not gains or max(gains) <= best:
                break
            most = same[int(np.argmax(gains))]
            test, feature, best = tried[most], made[most], max(gains)
        return feature


@njit(cache=True, nogil=True)
def chain_share(table: Any, values: Any, start: Any, pairs: Any, lengths: Any) -> Any:
    """The probability that a word of a Markov chain has value 1, over the given lengths."""
    states, width = table.shape
    share = lengths[0] * values[0] if len(lengths) else 0.0
    now = np.zeros((states, width))
    for b in range(width):
        now[table[0, b], b] += start[b]
    for n in range(1, len(lengths)):
        if n > 1:
            after = np.zeros((states, width))
            for s in range(states):
                for a in range(width):
                    if now[s, a] > 0:
                        for b in range(width):
                            after[table[s, b], b] += now[s, a] * pairs[a, b]
            now = after
        for s in range(states):
            if values[s] == 1:
                share += lengths[n] * now[s].sum()
    return share
