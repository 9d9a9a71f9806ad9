"""Automata as products of a few features, found by a beam search over the words' values.

For languages of long words that a few tests describe. A product divides the words into cells by the
values of its features; each cell costs the same class code as a state of an automaton. Before a
feature is chosen, the best features are varied step by step.

Of the features that agree on all words, the one is taken that makes the words most likely. This is
for rows that were drawn class by class, say half of them from a rare language. The words of a class
then tell more than their labels do: if every word with three "abc" has three "abcd", the rule is
"abcd". The likelihood of words drawn among those with a value of a feature f is

    product over words of P(word) / P(f has this value)

with P independent symbols, as frequent as among the words with the other value of f, which are
more varied. If this describes the rarer words in fewer bits than a chain of pairs of symbols does,
they were drawn so. Otherwise the words do not tell, and the simplest feature is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from kleene.automata import DFA
from kleene.induction.evidence import Evidence
from kleene.induction.feature_pool import FeaturePool, Values
from kleene.induction.features import Feature, Occurrence
from kleene.induction.search import Budget

MAX_SYMBOLS, MAX_WORDS = 256, 3_000
"""The largest alphabet for which products are searched, and the sample of the words."""
MAX_STATES = 3_000
MAX_FEATURES = 8
BEAM, VARIED_PRODUCTS, VARIED_OF_A_KIND = 5, 2, 2
"""Products kept at each depth, products for which features are varied, features of each kind."""
MIN_GAIN = 1.0
"""Bits that a further feature must save."""

MAX_ROUNDS, MAX_STALE_ROUNDS = 40, 2
"""Rounds of variations, and how many in a row may make the words no likelier."""


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """An automaton, and the bits that describe the features it is made of."""

    dfa: DFA
    bits: float


def patterns(
    evidence: Evidence, budget: Budget, *, seed: int = 0, variants: int = 0
) -> Iterator[Pattern]:
    """The automata of the best products of features, the best first.

    Each product is followed by its `variants`, which replace one feature by another that agrees
    with it on the words.
    """
    if not 0 < len(evidence.alphabet) <= MAX_SYMBOLS or not evidence.num_words:
        return
    if evidence.num_words > MAX_WORDS:
        random = np.random.default_rng(seed)
        evidence = evidence.subset(np.sort(random.permutation(evidence.num_words)[:MAX_WORDS]))
    pool = FeaturePool(evidence, budget)
    for product in _beam(pool):
        ranked = _ranked_features(product, pool)
        first = tuple(features[0] for features in ranked)
        others = [
            (*first[:i], other, *first[i + 1 :])
            for i, features in enumerate(ranked)
            for other in features[1 : 1 + variants]
        ]
        for features in dict.fromkeys([first, product.features, *others]):
            made = replace(product, features=features)
            dfa = made.automaton(evidence)
            if dfa is not None:
                # cap at the original cost: a longer feature is paid for by the words
                yield Pattern(dfa=dfa, bits=min(made.feature_bits, product.feature_bits))


@dataclass(frozen=True, eq=False)
class Product:
    """Features with their values, the cell of each word, and the bits of features and classes."""

    features: tuple[Feature, ...]
    values: Values  # (feature, word)
    cells: NDArray[np.int64]
    bits: float

    @property
    def feature_bits(self) -> float:
        """The bits of the features."""
        return sum(feature.bits for feature in self.features)

    def is_pure(self, evidence: Evidence) -> bool:
        """Whether no cell has words of two classes."""
        votes = np.zeros((int(self.cells.max()) + 1, len(evidence.classes)), dtype=np.int64)
        np.add.at(votes, self.cells, evidence.counts)
        return bool(((votes > 0).sum(1) <= 1).all())

    def codes(self, values: Values, depth: int | None = None) -> NDArray[np.int64]:
        """A number for each combination of values of the first features."""
        code = np.zeros(values.shape[1], dtype=np.int64)
        for feature, row in zip(self.features[:depth], values, strict=False):
            code = code * feature.num_values + row
        return code

    def labels(self, evidence: Evidence) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The class of each combination of values, and whether a word has these values.

        A combination without words goes with the values of the first features.
        """
        labels = evidence.counts.sum(0).argmax()[None]
        seen: NDArray[np.bool_] = np.ones(1, dtype=bool)
        for depth, feature in enumerate(self.features, 1):
            votes = np.zeros((len(labels) * feature.num_values, len(evidence.classes)), np.int64)
            np.add.at(votes, self.codes(self.values, depth), evidence.counts)
            seen = votes.max(1) > 0
            labels = np.where(seen, votes.argmax(1), np.repeat(labels, feature.num_values))
        return labels, seen

    def automaton(self, evidence: Evidence) -> DFA | None:
        """The minimal automaton; None if it is too large.

        After each feature, a state's output stands for the classes of all values of the features
        that are still to come.
        """
        table, outputs = np.zeros((1, len(evidence.alphabet)), np.int32), np.zeros(1, np.int64)
        labels = self.labels(evidence)[0][None]
        for feature in self.features:
            size = len(table) * feature.num_states
            if size > 20 * MAX_STATES:
                return None
            parts = labels.reshape(len(labels) * feature.num_values, -1)
            labels, number = np.unique(parts, axis=0, return_inverse=True)
            joined = table[:, None] * feature.num_states + feature.table[None]
            outputs = number.ravel()[outputs[:, None] * feature.num_values + feature.values[None]]
            dfa = DFA(
                alphabet=evidence.alphabet,
                transitions=joined.reshape(size, -1),
                outputs=tuple(outputs.ravel().tolist()),
            ).minimize()
            if dfa.num_states > MAX_STATES:
                return None
            table, outputs = dfa.transitions, np.array(dfa.outputs, dtype=np.int64)
        classes = [evidence.classes[i] for i in labels[outputs, 0]]
        return DFA(alphabet=evidence.alphabet, transitions=table, outputs=tuple(classes))


def _beam(pool: FeaturePool) -> list[Product]:
    """The best products, of any number of features up to the limit, the best first."""
    evidence = pool.evidence
    cells = np.zeros(evidence.num_words, dtype=np.int64)
    beam = [Product((), pool.values[:0], cells, pool.class_bits(cells))]
    finished: list[Product] = []
    for _ in range(MAX_FEATURES):
        for product in beam[:VARIED_PRODUCTS]:
            _vary(pool, product.cells)
        options: list[tuple[float, int, int]] = []
        for b, product in enumerate(beam):
            if pool.budget.is_spent or not len(pool.values):
                break
            bits = pool.rank(product.cells) + pool.bits + product.feature_bits
            best = np.argsort(bits, kind="stable")[: 2 * BEAM].tolist()
            options += [(float(bits[i]), b, i) for i in best if bits[i] < product.bits - MIN_GAIN]
        following: dict[bytes, Product] = {}
        for cost, b, i in sorted(options):
            before, feature, row = beam[b], pool.features[i], pool.values[i]
            code = before.cells * feature.num_values + row
            cells = np.unique(code, return_inverse=True)[1]
            if len(following) < BEAM and cells.tobytes() not in following:
                following[cells.tobytes()] = Product(
                    (*before.features, feature), np.r_[before.values, row[None]], cells, cost
                )
        if not following:
            break
        beam = list(following.values())
        finished += beam
        if beam[0].is_pure(evidence):
            break
    return sorted(finished, key=lambda one: one.bits)[:BEAM]


def _vary(pool: FeaturePool, cells: NDArray[np.int64]) -> None:
    """Vary the best features of each kind: subsequences, factors, thresholds or places, tiers."""
    if pool.budget.is_spent or not len(pool.values):
        return
    kinds: dict[tuple[bool, ...], list[int]] = {}
    for place in np.argsort(pool.rank(cells) + pool.bits, kind="stable")[:400].tolist():
        test = pool.features[place].test
        if test is not None:
            kind = (test.is_factor, test.times > 1 or bool(test.place), test.tier is None)
            kinds.setdefault(kind, []).append(place)
    letters = pool.letters(cells)
    for places in kinds.values():
        for place in places[:VARIED_OF_A_KIND]:
            pool.climb(cells, letters, place)


def _ranked_features(product: Product, pool: FeaturePool) -> list[list[Feature]]:
    """For each feature, the likeliest features that agree with it wherever it decides rightly.

    Words with a wrong output are ignored: another feature may be right about them.
    """
    ranked, values = [], product.values.copy()
    labels, seen = product.labels(pool.evidence)
    labels = np.where(seen, labels, -1)
    right = pool.evidence.counts.argmax(1)
    for i, feature in enumerate(product.features):
        outputs = []
        for value in (0, 1):
            changed = values.copy()
            changed[i] = value
            outputs.append(labels[product.codes(changed)])
        now = np.where(values[i] == 1, outputs[1], outputs[0])
        decides = np.flatnonzero((outputs[0] != outputs[1]) & (now == right))
        ranked.append(likeliest(feature, pool, decides))
        values[i] = pool.run(ranked[-1][:1])[0]
    return ranked


def likeliest(feature: Feature, pool: FeaturePool, decides: NDArray[np.int64]) -> list[Feature]:
    """Features with the same values for the words that this one decides, the likeliest first.

    The best test of every kind is varied in turn. If the words do not tell, the given feature is
    the first.
    """
    test, values = feature.test, pool.run([feature])[0]
    if test is None or len(set(values[decides].tolist())) < 2:
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
