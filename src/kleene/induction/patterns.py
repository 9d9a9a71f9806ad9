"""Automata as combinations of a few features, found by beam searches over the words' values.

A *product* divides the words into cells by the values of all its features, and each cell costs the
same class code as a state of an automaton. A *list* has rules, the first of which that fits a word
decides it: "ab occurs: no; else ...". Products stand for any function of a few features, lists for
many features of which each decides alone. Before a feature is chosen, the best ones are varied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.induction.evidence import Evidence
from kleene.induction.feature_pool import FeaturePool, Values
from kleene.induction.features import Feature
from kleene.induction.kernels import class_code, rank_features, rank_rules
from kleene.induction.search import Budget
from kleene.induction.specialise import Specialiser
from kleene.machine import Label

MOST_SYMBOLS = 256
"""The largest alphabet for which combinations of features are searched."""
MOST_WORDS = 3_000
MOST_STATES = 3_000
BEAM, VARIED, SEEDS = 5, 2, 4
"""Combinations kept at each depth, those for which features are varied, and how many features."""
DEPTH = 8


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """An automaton, and the bits that describe the features it is made of."""

    dfa: DFA
    bits: float


@dataclass(frozen=True, eq=False)
class Chosen:
    """Features, their values, the cell of each word, the bits of both, and the rules of a list."""

    features: tuple[Feature, ...]
    values: Values  # (feature, word)
    cells: NDArray[np.int64]
    bits: float
    rules: tuple[int, ...] = ()

    def is_pure(self, evidence: Evidence) -> bool:
        """Whether no cell has words of two classes."""
        votes = np.zeros((int(self.cells.max()) + 1, len(evidence.classes)), dtype=np.int64)
        np.add.at(votes, self.cells, evidence.counts)
        return bool(((votes > 0).sum(1) <= 1).all())

    @property
    def feature_bits(self) -> float:
        """The bits of the features."""
        return sum(feature.bits for feature in self.features)


@dataclass(frozen=True)
class Product:
    """Every combination of values is a cell with the majority of its words as output."""

    evidence: Evidence
    budget: Budget = field(default_factory=Budget)

    def rank(
        self, cells: NDArray[np.int64], values: Values, sizes: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Bits of the classes after one more feature, and the rule that it adds."""
        evidence, count = self.evidence, int(cells.max()) + 1
        bits = rank_features(cells, count, values, sizes, evidence.arrays, self.budget.work)
        return bits, np.zeros(len(bits), np.int64)

    def cells(
        self, before: NDArray[np.int64], values: Values, size: int, rule: int
    ) -> NDArray[np.int64]:
        """The cells of the words after one more feature."""
        cells: NDArray[np.int64] = np.unique(before * size + values, return_inverse=True)[1]
        return cells

    def outputs(self, chosen: Chosen, values: Values) -> NDArray[np.int64]:
        """The class of each word by given values of the features; -1 if no word had the values."""
        sizes = [int(feature.values.max()) + 1 for feature in chosen.features]
        strides = np.cumprod([1, *sizes[:0:-1]])[::-1]
        given, known = strides @ values, strides @ chosen.values
        numbers, place = np.unique(known, return_inverse=True)
        votes = np.zeros((len(numbers), len(self.evidence.classes)), np.int64)
        np.add.at(votes, place, self.evidence.counts)
        at = np.minimum(np.searchsorted(numbers, given), len(numbers) - 1)
        return np.where(numbers[at] == given, votes.argmax(1)[at], -1)

    def automaton(self, chosen: Chosen, pool: FeaturePool) -> DFA | None:
        """The minimal automaton of a product; None if it is too large.

        A combination of values without words goes with the values of the first features.
        """
        values = chosen.values
        sizes = [int(feature.values.max()) + 1 for feature in chosen.features]
        dfa = _plain(chosen.features[0], pool)
        for feature, size in zip(chosen.features[1:], sizes[1:], strict=True):
            joined = _joined(dfa, _plain(feature, pool), partial(_number, size))
            if joined is None:
                return None
            dfa = joined
        votes: dict[tuple[int, int], NDArray[np.int64]] = {}
        code = np.zeros(self.evidence.num_words, dtype=np.int64)
        for depth, size in enumerate(sizes, 1):
            code = code * size + values[depth - 1]
            for number in np.unique(code):
                votes[depth, int(number)] = self.evidence.counts[code == number].sum(0)

        def output(number: int) -> Label:
            for depth in range(len(sizes), 0, -1):
                if (depth, number) in votes:
                    return self.evidence.classes[int(votes[depth, number].argmax())]
                number //= sizes[depth - 1]
            return self.evidence.classes[int(self.evidence.counts.sum(0).argmax())]

        numbers: Sequence[Any] = dfa.outputs
        outputs = tuple(output(number) for number in numbers)
        return DFA(
            alphabet=dfa.alphabet, transitions=dfa.transitions, outputs=outputs, initial=dfa.initial
        ).minimize()


@dataclass(frozen=True)
class RuleList:
    """The first rule that fits a word decides; the majority of the others is their output."""

    evidence: Evidence
    budget: Budget = field(default_factory=Budget)

    def rank(
        self, cells: NDArray[np.int64], values: Values, sizes: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Bits of the classes after one more feature, and the rule that it adds."""
        bits, rules = rank_rules(cells, values, self.evidence.arrays, self.budget.work)
        return np.where(sizes == 2, bits, np.inf), rules

    def cells(
        self, before: NDArray[np.int64], values: Values, size: int, rule: int
    ) -> NDArray[np.int64]:
        """The cells of the words after one more feature."""
        value, label = divmod(rule, len(self.evidence.classes))
        return np.where((before == 0) & (values == value), 1 + label, before)

    def labels(self, chosen: Chosen) -> list[int]:
        """The class of each cell.

        The rules only say which words are decided alike; most words of a cell say how.
        """
        votes = np.zeros((1 + len(self.evidence.classes), len(self.evidence.classes)), np.int64)
        np.add.at(votes, chosen.cells, self.evidence.counts)
        labels: list[int] = votes.argmax(1).tolist()
        return labels

    def outputs(self, chosen: Chosen, values: Values) -> NDArray[np.int64]:
        """The class of each word by given values of the features."""
        labels = self.labels(chosen)
        found = np.full(self.evidence.num_words, labels[0])
        for row, rule in zip(values[::-1], chosen.rules[::-1], strict=True):
            value, label = divmod(rule, len(self.evidence.classes))
            found = np.where(row == value, labels[1 + label], found)
        return found

    def automaton(self, chosen: Chosen, pool: FeaturePool) -> DFA | None:
        """The minimal automaton of a list; None if it is too large."""
        labels = self.labels(chosen)
        dfa = DFA(
            alphabet=self.evidence.alphabet,
            transitions=np.zeros((1, pool.width), np.int32),
            outputs=(labels[0],),
        )
        for feature, rule in zip(chosen.features[::-1], chosen.rules[::-1], strict=True):
            value, label = divmod(rule, len(self.evidence.classes))
            decide = partial(_decide, value, labels[1 + label])
            joined = _joined(_plain(feature, pool), dfa, decide)
            if joined is None:
                return None
            dfa = joined
        numbers: Sequence[Any] = dfa.outputs
        outputs = tuple(self.evidence.classes[number] for number in numbers)
        return DFA(
            alphabet=dfa.alphabet, transitions=dfa.transitions, outputs=outputs, initial=dfa.initial
        )


Combination = Product | RuleList


def patterns(evidence: Evidence, budget: Budget, *, seed: int = 0) -> Iterator[Pattern]:
    """The automata of the best combinations of features, the best first."""
    if not 0 < len(evidence.alphabet) <= MOST_SYMBOLS or not evidence.num_words:
        return
    if evidence.num_words > MOST_WORDS:
        random = np.random.default_rng(seed)
        evidence = evidence.subset(np.sort(random.permutation(evidence.num_words)[:MOST_WORDS]))
    pool = FeaturePool(evidence, budget)
    found: list[tuple[Combination, Chosen]] = []
    specialiser = Specialiser(pool)
    for combination in (RuleList(evidence, budget), Product(evidence, budget)):
        best = _beam(pool, combination, budget)
        found += [(combination, chosen) for chosen in best]
        if best and best[0].is_pure(evidence):
            break
    for combination, chosen in sorted(found, key=lambda one: one[1].bits):
        special = _special(chosen, combination, specialiser)
        for features in dict.fromkeys([special, chosen.features]):
            made = replace(chosen, features=features)
            dfa = combination.automaton(made, pool)
            if dfa is not None:
                bits = min(made.feature_bits, chosen.feature_bits)  # the words pay for more
                yield Pattern(dfa=dfa, bits=bits)


def _special(
    chosen: Chosen, combination: Combination, specialiser: Specialiser
) -> tuple[Feature, ...]:
    """The features, each replaced by the likeliest that agrees with it wherever it decides rightly.

    Words with a wrong output are left to it: another feature may be right about them.
    """
    pool, features, values = specialiser.pool, list(chosen.features), chosen.values.copy()
    labels = combination.evidence.counts.argmax(1)
    for i, feature in enumerate(chosen.features):
        flipped = []
        for value in (0, 1):
            values_with = values.copy()
            values_with[i] = value
            flipped.append(combination.outputs(chosen, values_with))
        right = np.where(values[i] == 1, flipped[1], flipped[0]) == labels
        decides = (flipped[0] != flipped[1]) & right
        features[i] = specialiser.special(feature, decides)
        values[i] = pool.run([features[i]])[0]
    return tuple(features)


def _beam(pool: FeaturePool, combination: Combination, budget: Budget) -> list[Chosen]:
    """The best combinations, of any number of features up to `DEPTH`, the best first."""
    evidence = combination.evidence
    bits = float(class_code(evidence.counts.sum(0), evidence.log_factorials))
    cells = np.zeros(evidence.num_words, dtype=np.int64)
    beam = [Chosen((), pool.values[:0], cells, bits)]
    finished: list[Chosen] = []
    for _ in range(DEPTH):
        for one in beam[:VARIED]:
            _vary(pool, combination, one, budget)
        options: list[tuple[float, int, int, int]] = []
        for b, one in enumerate(beam):
            if budget.is_spent or not len(pool.values):
                break
            ranked, rules = combination.rank(one.cells, pool.values, pool.sizes)
            ranked = ranked + pool.bits + one.feature_bits
            best = np.argsort(ranked, kind="stable")[: 2 * BEAM]
            options += [
                (float(ranked[i]), b, int(i), int(rules[i]))
                for i in best
                if ranked[i] < one.bits - 1
            ]
        following: list[Chosen] = []
        seen = set()
        for cost, b, i, rule in sorted(options):
            size = int(pool.features[i].values.max()) + 1
            cells = combination.cells(beam[b].cells, pool.values[i], size, rule)
            if cells.tobytes() in seen:
                continue
            seen.add(cells.tobytes())
            features = (*beam[b].features, pool.features[i])
            values = np.concatenate([beam[b].values, pool.values[i : i + 1]])
            following.append(Chosen(features, values, cells, cost, (*beam[b].rules, rule)))
            if len(following) == BEAM:
                break
        if not following:
            break
        finished += following
        beam = following
        if beam[0].is_pure(evidence):
            break
    return sorted(finished, key=lambda one: one.bits)[:BEAM]


def _vary(pool: FeaturePool, combination: Combination, chosen: Chosen, budget: Budget) -> None:
    """Vary the features that would be chosen next."""

    def score(values: Values, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        return combination.rank(chosen.cells, values, sizes)[0]

    if budget.is_spent or not len(pool.values):
        return
    ranked = score(pool.values, pool.sizes) + pool.bits
    letters = pool.letters(score)
    for place in _different(np.argsort(ranked, kind="stable").tolist(), pool):
        pool.climb(score, letters, place)


def _different(order: Sequence[int], pool: FeaturePool) -> list[int]:
    """The first features of each kind: subsequences, factors, thresholds or places, tiers."""
    found: dict[tuple[bool, bool, bool], list[int]] = {}
    for place in order[:400]:
        test = pool.features[place].test
        if test is not None:
            kind = (test.is_factor, test.times > 1 or bool(test.place), test.tier is None)
            if len(found.setdefault(kind, [])) < SEEDS // 2:
                found[kind].append(place)
    return [place for places in found.values() for place in places]


def _plain(feature: Feature, pool: FeaturePool) -> DFA:
    """A feature as an automaton whose outputs are its values."""
    return DFA(
        alphabet=pool.evidence.alphabet,
        transitions=feature.table,
        outputs=tuple(map(int, feature.values)),
    )


def _number(size: int, one: int, other: int) -> int:
    return one * size + other


def _decide(value: int, label: int, one: int, other: int) -> int:
    return label if one == value else other


def _joined(one: DFA, other: DFA, output: Callable[[int, int], int]) -> DFA | None:
    """The minimal product of two automata; None if it is too large."""
    states = one.num_states * other.num_states
    if states > 20 * MOST_STATES:
        return None
    table = one.transitions[:, None] * other.num_states + other.transitions[None]
    first: Sequence[Any] = one.outputs
    second: Sequence[Any] = other.outputs
    outputs = [output(a, b) for a in first for b in second]
    found = DFA(
        alphabet=one.alphabet,
        transitions=table.reshape(states, -1).astype(np.int32),
        outputs=tuple(outputs),
        initial=one.initial * other.num_states + other.initial,
    ).minimize()
    return found if found.num_states <= MOST_STATES else None
