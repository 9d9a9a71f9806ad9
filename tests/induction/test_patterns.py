"""Features, products of features, and which of the features that agree is taken."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

import kleene as kl
from kleene.automata import DFA
from kleene.induction.evidence import Evidence
from kleene.induction.feature_pool import FeaturePool
from kleene.induction.features import (
    Feature,
    Occurrence,
    counter,
    null_space,
)
from kleene.induction.patterns import Product, adaptive_bits, likeliest, patterns, value_share
from kleene.induction.search import Budget


def value(feature: Feature, word: str) -> int:
    state = 0
    for letter in word:
        state = feature.table[state, "abc".index(letter)]
    return int(feature.values[state])


WORDS = ["", "a", "ab", "ba", "abab", "cabcab", "acb", "aab", "abcba", "bcacbab", "cccab", "abc"]
WORDS += ["ababa", "abacaba", "cccc", "ababab", "abababab", "babacababc"]


@pytest.mark.parametrize("word", WORDS)
def test_features_are_what_they_say(word: str) -> None:
    def occurs(test: Occurrence) -> int:
        return value(test.feature(3), word)

    def overlapping(part: str) -> int:
        return sum(word.startswith(part, i) for i in range(len(word)))

    ab, tier = (0, 1), word.replace("c", "")
    assert occurs(Occurrence.factor(ab)) == ("ab" in word)
    assert occurs(Occurrence.factor(ab, times=2)) == (word.count("ab") >= 2)
    assert occurs(Occurrence.factor((0, 1, 0), times=2)) == (overlapping("aba") >= 2)
    assert occurs(Occurrence.factor((2, 2), times=2)) == (overlapping("cc") >= 2)
    for part in ("aba", "cc", "abab"):
        apart = Occurrence.factor(["abc".index(c) for c in part], times=2, overlap=False)
        assert occurs(apart) == (word.count(part) >= 2)
    assert occurs(Occurrence.factor(ab, place="start")) == word.startswith("ab")
    assert occurs(Occurrence.factor(ab, place="end")) == word.endswith("ab")
    assert occurs(Occurrence.factor(ab, ab)) == ("ab" in tier)
    assert occurs(Occurrence.factor(ab, ab, place="start")) == tier.startswith("ab")
    assert occurs(Occurrence.factor(ab, ab, place="end")) == tier.endswith("ab")
    assert occurs(Occurrence.subsequence((0, 2, 1))) == bool(re.search("a.*c.*b", word))
    joined = (True, False)
    assert occurs(Occurrence((0, 1, 1), joined)) == bool(re.search("ab.*b", word))
    assert value(counter((1, 2, 0), 3), word) == (word.count("a") + 2 * word.count("b")) % 3


def test_neighbours_are_valid_tests_and_lead_back() -> None:
    """Whatever is one step away has a table over the alphabet, and one step leads back.

    Repetitions are left out: what has a factor "as often" need not lead back.
    """
    for test in (
        Occurrence.factor((0, 1), times=2),
        Occurrence.factor((0, 1), place="end"),
        Occurrence.factor((0, 1, 2), (0, 1, 2)),
        Occurrence.subsequence((0, 1, 0, 2)),
        Occurrence((0, 1, 1), (True, False)),
        Occurrence.factor((3,)),
    ):
        near = set(test.neighbours(range(5), 5))
        assert len(near) > 10
        for one in near:
            feature = one.feature(5)
            assert feature.table.shape == (feature.num_states, 5)
            assert 0 <= feature.table.min() <= feature.table.max() < feature.num_states
            twice = Occurrence.factor((0, 1), times=2)
            if one.tier == test.tier and (one, test.word) != (twice, (0, 1, 1)):
                assert test in set(one.neighbours(range(5), 5))


def test_a_product_of_two_patterns_is_found() -> None:
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("abcd"), random.integers(0, 20))) for _ in range(1200)]
    labels = [("ab" in word) != (word.count("c") % 2 == 1) for word in words]
    evidence = Evidence.from_rows(words, labels, alphabet="abcd", classes=(False, True))
    best = next(patterns(evidence, Budget())).dfa
    assert best.num_states == 6
    assert best.run_many(words).tolist() == labels


def test_the_share_of_a_value_is_that_of_all_words() -> None:
    shares = np.random.default_rng(0).dirichlet(np.ones(3))
    lengths = np.array([0.1, 0.2, 0.0, 0.3, 0.4])
    for test in (Occurrence.factor((0, 1), times=2), Occurrence.subsequence((2, 0))):
        feature = test.feature(3)
        share = 0.0
        for length, weight in enumerate(lengths):
            for word in product(range(3), repeat=length):
                chance = np.prod([shares[a] for a in word])
                share += weight * chance * value(feature, "".join("abc"[i] for i in word))
        found = value_share(feature, shares, lengths)
        assert found == pytest.approx(share)


def test_adaptive_bits_are_those_of_predicting_symbol_by_symbol() -> None:
    counts = np.array([[3.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1.0, 4.0, 1.0]])
    bits = 0.0
    for row in counts.astype(int):
        seen = np.zeros(3)
        for symbol in np.repeat(np.arange(3), row):
            bits -= np.log2((seen[symbol] + 0.5) / (seen.sum() + 1.5))
            seen[symbol] += 1
    assert adaptive_bits(counts) == pytest.approx(bits)


def test_a_product_decides_by_the_words_of_each_cell() -> None:
    words = ["".join(word) for word in product("abc", repeat=6)]
    labels = ["aa" in word and "bb" not in word for word in words]
    evidence = Evidence.from_rows(words, labels, alphabet="abc", classes=(False, True))
    tests = [Occurrence.factor((0, 0)), Occurrence.factor((1, 1))]
    features = tuple(test.feature(3) for test in tests)
    values = FeaturePool(evidence, Budget()).run(list(features))
    cells = values[0].astype(np.int64) * 2 + values[1]
    found = Product(features, values, cells, 0.0)
    by_code, seen = found.labels(evidence)
    assert seen.all()
    assert by_code.tolist() == [0, 0, 1, 0]
    dfa = found.automaton(evidence)
    assert dfa is not None
    assert dfa.run_many(words).tolist() == labels
    # no word has "bb" but not "aa": the first feature decides
    some = evidence.subset(np.flatnonzero(cells != 1))
    found = Product(features, values[:, cells != 1], cells[cells != 1], 0.0)
    by_code, seen = found.labels(some)
    assert seen.tolist() == [True, False, True, True]
    assert by_code.tolist() == [0, 0, 1, 0]


def test_counts_without_overlap_are_neighbours_of_those_with_it() -> None:
    apart = Occurrence.factor((0, 1, 0, 1), times=3, overlap=False)
    near = set(apart.neighbours((), 2))
    for other in (
        Occurrence.factor((0, 1), times=6),
        Occurrence.factor((0, 1, 0, 1, 0, 1), times=2, overlap=False),
        Occurrence.factor((0, 1, 0, 1), times=3),
    ):
        assert other in near
        assert apart in set(other.neighbours((), 2)) or other.overlap
    assert apart in set(Occurrence.factor((0, 1), times=6).neighbours((), 2))
    for word, shorter in (((0,) * 6, (0,) * 5), ((0, 1) * 3, (0, 1) * 2)):
        assert Occurrence.factor(shorter, times=2) in set(Occurrence.factor(word).neighbours((), 2))
    apart = Occurrence.factor((0, 0, 0, 0), times=3, overlap=False)
    assert apart in set(Occurrence.factor((0, 0, 0), times=6).neighbours((), 2))


def test_words_drawn_class_by_class_tell_more_than_their_labels() -> None:
    """Every other word was made to have "abc" three times; "ab" three times has the same labels."""
    random, letters = np.random.default_rng(0), list("abcdefghijklmnop")
    given = Occurrence.factor((0, 1), times=3)
    special = []
    for inserted in ("abc", ""):
        words = []
        for i in range(400):
            parts = ["".join(random.choice(letters, random.integers(2, 9))) for _ in range(4)]
            words.append((inserted if i % 2 else "").join(parts))
        words = [word for word in words if (word.count("ab") >= 3) == (word.count("abc") >= 3)]
        labels = [word.count("ab") >= 3 for word in words]
        evidence = Evidence.from_rows(words, labels, alphabet=letters, classes=(False, True))
        pool = FeaturePool(evidence, Budget())
        feature = likeliest(given.feature(16), pool, np.arange(evidence.num_words))[0]
        special.append(DFA(alphabet=letters, transitions=feature.table, outputs=feature.values))
    assert special[0].run("abdabdabd") == 0
    assert special[0].run("abcabcabc") == 1
    assert special[1].run("abdabdabd") == 1  # words without any "abc" do not tell


@pytest.mark.parametrize(
    ("test", "pattern"),
    [
        (Occurrence.factor((0, 1, 0, 1), times=3, overlap=False), "abab.*abab.*abab"),
        (Occurrence((0,) * 6 + (1, 1), (True,) * 5 + (False,) * 2), "aaaaaa.*b.*b"),
    ],
)
def test_long_rare_patterns_are_found_in_words_drawn_class_by_class(
    test: Occurrence, pattern: str
) -> None:
    """Half of the words have the pattern; six "ab", or "aaaaaa" alone, have nearly the same."""
    feature = test.feature(4)
    outputs = tuple(bool(one) for one in feature.values)
    truth = DFA(alphabet="abcd", transitions=feature.table, outputs=outputs)
    random, blocks, words = np.random.default_rng(0), pattern.split(".*"), []
    while len(words) < 2000:
        gaps = ["".join(random.choice(list("abcd"), random.integers(0, 5))) for _ in range(4)]
        word = "".join(a + b for a, b in zip(gaps, [*blocks, ""], strict=True))
        words += [word, "".join(random.choice(list("abcd"), len(word)))]
    labels = [bool(re.search(pattern, word)) for word in words]
    assert truth.run_many(words).tolist() == labels
    assert kl.induce(words, labels).dfa == truth.minimize()


# -- wide alphabets --------------------------------------------------------------------------------


def _drawn(tests: list[Occurrence], width: int) -> tuple[DFA, list[tuple[int, ...]], list[bool]]:
    """The union of tests, with words half of which were made to pass one of them."""
    random = np.random.default_rng(0)
    truth = None
    for test in tests:
        feature = test.feature(width)
        outputs = tuple(bool(value) for value in feature.values)
        dfa = DFA(alphabet=range(width), transitions=feature.table, outputs=outputs)
        truth = dfa if truth is None else truth | dfa
    assert truth is not None
    words = []
    for i in range(1_200):
        word = random.integers(0, width, random.integers(20, 30))
        if i % 2:
            test = tests[i // 2 % len(tests)]
            blocks = test.blocks() if not test.is_factor else [test.word]
            places = np.sort(random.permutation(len(word) - 8)[: len(blocks)])
            if len(blocks) > 1:
                word[places] = [block[0] for block in blocks]
            else:
                word[places[0] : places[0] + len(test.word)] = test.word
        words.append(tuple(word.tolist()))
    return truth.minimize(), words, truth.run_many(words).tolist()


@pytest.mark.parametrize(
    "tests",
    [
        [Occurrence.factor((3, 3, 3, 3)), Occurrence.factor((9, 23, 6, 1))],
        [Occurrence.subsequence((7, 7, 7, 12, 7, 7)), Occurrence.subsequence((24,) * 6)],
    ],
)
def test_all_of_a_rare_word_is_found_where_a_part_of_it_has_the_same_labels(tests):
    truth, words, labels = _drawn(tests, 32)
    assert kl.induce(words, labels).dfa == truth


@pytest.mark.parametrize("prime", [2, 3, 7])
def test_the_null_space_is_orthogonal_and_complete(prime):
    random = np.random.default_rng(prime)
    rows = random.integers(0, 9, (4, 7))
    basis = null_space(rows, prime)
    assert not (rows @ basis.T % prime).any()
    vectors = np.indices((prime,) * 3).reshape(3, -1).T if prime == 2 else basis[:0]
    assert len(basis) >= 3
    assert len({tuple(v @ basis[:3] % prime) for v in vectors}) == len(vectors)


@pytest.mark.parametrize(("prime", "wrong"), [(2, 0), (3, 0), (2, 10)])
def test_a_weighted_sum_over_twenty_symbols_is_found(prime, wrong):
    random = np.random.default_rng(prime)
    feature = counter(random.integers(0, prime, 20).tolist(), prime)
    truth = DFA(
        alphabet=range(20),
        transitions=feature.table,
        outputs=tuple(value == 0 for value in range(prime)),
    )
    words = [tuple(random.integers(0, 20, random.integers(15, 25)).tolist()) for _ in range(1000)]
    labels = truth.run_many(words).tolist()
    for i in range(wrong):
        labels[i] = not labels[i]
    assert kl.induce(words, labels).dfa == truth
