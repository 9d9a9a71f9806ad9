"""`kl.induce`: small automata from labelled sequences, without a network."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

import kleene as kl
from kleene.automata import DFA
from kleene.errors import DataError, SettingError
from kleene.induction.evidence import Evidence
from kleene.induction.feature_pool import FeaturePool
from kleene.induction.features import Feature, Occurrence, counter, factor_counter
from kleene.induction.patterns import Chosen, Product, RuleList, patterns
from kleene.induction.search import Budget
from kleene.induction.specialise import Specialiser, adaptive_bits, value_share


@pytest.mark.parametrize("number", range(1, 8))
def test_tomita_languages_are_found(number: int) -> None:
    language = kl.languages.tomita(number)
    found = kl.induce(*language.sample(1500, seed=1))
    assert found.dfa == language.dfa
    assert found.training_errors == found.held_out_errors == 0
    assert found.origin in ("merged from the data", "grown from the data")


@pytest.mark.parametrize("number", [1, 3, 5, 6])
@pytest.mark.parametrize("share", [0.05, 0.1])
def test_flipped_labels_do_not_add_states(number: int, share: float) -> None:
    language = kl.languages.tomita(number)
    words, labels = language.sample(1500, lengths=range(16), seed=0)
    random = np.random.default_rng(0)
    flipped = [label != (random.random() < share) for label in labels]
    found = kl.induce(words, flipped)
    assert found.dfa == language.dfa
    assert found.training_errors == sum(a != b for a, b in zip(labels, flipped, strict=True))


def random_dfa(states: int, symbols: int, seed: int) -> DFA:
    random = np.random.default_rng(seed)
    while True:
        table = random.integers(0, states, (states, symbols))
        outputs = tuple(random.choice(["red", "green", "blue"], states).tolist())
        dfa = DFA(alphabet=range(symbols), transitions=table, outputs=outputs).minimize()
        if dfa.num_states == states:
            return dfa


@pytest.mark.parametrize("seed", range(3))
def test_a_random_automaton_of_three_labels_is_found(seed: int) -> None:
    truth = random_dfa(6, 3, seed)
    random = np.random.default_rng(seed)
    words = [tuple(random.integers(0, 3, random.integers(0, 13)).tolist()) for _ in range(1500)]
    found = kl.induce(words, truth.run_many(words).tolist())
    assert found.dfa == truth


def test_the_same_seed_gives_the_same_result() -> None:
    words, labels = kl.languages.tomita(7).sample(400, seed=3)
    labels = [label != (i % 9 == 0) for i, label in enumerate(labels)]
    one, two = (kl.induce(words, labels, seed=5).to_dict() for _ in range(2))
    assert one.pop("seconds") > 0
    two.pop("seconds")
    assert one == two


def test_no_more_states_than_wanted() -> None:
    words, labels = kl.languages.tomita(3).sample(600, seed=0)
    found = kl.induce(words, labels, max_states=3)
    assert found.dfa.num_states <= 3
    assert found.training_errors > 0
    assert all(point.states <= 3 for point in found.front)


def test_a_limit_in_seconds_is_kept_and_reported() -> None:
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("abcdef"), 30)) for _ in range(3000)]
    found = kl.induce(words, random.integers(0, 2, len(words)).tolist(), seconds=0.2)
    assert found.stopped_early
    assert "stopped by its budget" in str(found)


def test_the_result_prints_and_becomes_json() -> None:
    found = kl.induce(*kl.languages.tomita(4).sample(600, seed=0))
    text = str(found)
    assert "4-state automaton over 2 symbols" in text
    document = json.loads(json.dumps(found.to_dict()))
    assert DFA.from_json(json.dumps(document["dfa"])) == found.dfa
    assert document["states"] == 4
    assert document["accuracy"] == document["held_out_accuracy"] == 1
    errors = [point["training_errors"] for point in document["front"]]
    assert errors == sorted(errors, reverse=True)


def test_wrong_settings_and_labels_are_refused() -> None:
    wrong: object
    for wrong in (0, "3", 2.5):
        with pytest.raises(
            SettingError, match=f"max_states must be a whole .* >= 1, got {wrong!r}"
        ):
            kl.induce(["a", "b"], [0, 1], max_states=wrong)  # type: ignore[arg-type]
    for wrong in (0, "3", float("nan")):
        with pytest.raises(SettingError, match=f"seconds must be a number > 0, got {wrong!r}"):
            kl.induce(["a", "b"], [0, 1], seconds=wrong)  # type: ignore[arg-type]
    with pytest.raises(DataError):
        kl.induce(["a", "b"], [1, 1])


def test_torch_is_not_imported() -> None:
    code = """
import sys
from itertools import pairwise, product
import kleene as kl
print(kl.induce(["", "a", "aa", "aaa"] * 20, [0, 1, 0, 1] * 20).dfa.num_states)
assert "torch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2\n"


# -- features and patterns ----------------------------------------------------------------------


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
    assert value(factor_counter(ab, 2, 3), word) == overlapping("ab") % 2


def test_neighbours_are_valid_tests_and_lead_back() -> None:
    """Whatever is one step away has a table over the alphabet, and one step leads back.

    Only from a factor that occurs twice none leads back to it and a part of it.
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("symbols", "tests"),
    [
        ("abcd", [Occurrence.subsequence((0, 1, 1, 3, 2, 0))]),
        ("abcd", [Occurrence.factor((0, 0, 2, 3)), Occurrence.factor((1, 0, 1, 1))]),
        ("abcd", [Occurrence.factor((0, 1), (0, 1, 2), times=4)]),
        ("abcdefghijklmnop", [Occurrence.subsequence((3, 9, 9, 1)), Occurrence.factor((4, 15))]),
    ],
)
def test_words_without_patterns_are_told_from_others(symbols: str, tests: list[Occurrence]) -> None:
    width = len(symbols)
    truth = DFA(alphabet=symbols, transitions=np.zeros((1, width), np.int32), outputs=(False,))
    for test in tests:
        feature = test.feature(width)
        outputs = tuple(bool(one) for one in feature.values)
        found = DFA(alphabet=symbols, transitions=feature.table, outputs=outputs)
        truth = truth.union(found)
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list(symbols), random.integers(8, 24))) for _ in range(2000)]
    for i in range(0, len(words), 4):  # rare patterns are written into some of the words
        places = np.sort(random.permutation(len(words[i]))[: len(tests[i % len(tests)].word)])
        letters = list(words[i])
        for place, symbol in zip(places, tests[i % len(tests)].word, strict=True):
            letters[place] = symbols[symbol]
        words[i] = "".join(letters)
    found = kl.induce(words, truth.run_many(words).tolist())
    assert found.dfa == truth.minimize()


@pytest.mark.parametrize("seed", [-1, None, 0.5])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(SettingError, match="seed must be a whole number >= 0"):
        kl.induce(["a", "b"], [0, 1], seed=seed)


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
        found = value_share(feature.table, feature.values, shares, lengths)
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


def test_rules_decide_by_the_words_they_decide() -> None:
    """Whether a rule was counted for one class or the other, the language is that of the words."""
    words = ["".join(word) for word in product("abc", repeat=6)]
    labels = ["aa" in word and "bb" not in word for word in words]
    evidence = Evidence.from_rows(words, labels, alphabet="abc", classes=(False, True))
    pool = FeaturePool(evidence, Budget())
    tests = [Occurrence.factor((0, 0)), Occurrence.factor((1, 1))]
    features = tuple(test.feature(3) for test in tests)
    values = pool.run(list(features))
    for first, second in product((0, 1), repeat=2):
        rules = (0 * 2 + first, 1 * 2 + second)  # no "aa", then "bb"; the classes may be named so
        cells = np.where(values[0] == 0, 1 + first, np.where(values[1] == 1, 1 + second, 0))
        chosen = Chosen(features, values, cells, 0.0, rules)
        dfa = RuleList(evidence).automaton(chosen, pool)
        assert dfa is not None
        assert dfa.run_many(words).tolist() == labels
        assert RuleList(evidence).outputs(chosen, values).astype(bool).tolist() == labels
    cells = values[0].astype(np.int64) * 2 + values[1]
    chosen = Chosen(features, values, cells, 0.0)
    assert Product(evidence).outputs(chosen, values).astype(bool).tolist() == labels
    dfa = Product(evidence).automaton(chosen, pool)
    assert dfa is not None
    assert dfa.run_many(words).tolist() == labels


def test_a_factor_that_overlaps_itself_has_longer_and_shorter_neighbours() -> None:
    for word, times, shorter in (("aaaaaa", 1, ("aaaaa", 2)), ("ababab", 1, ("abab", 2))):
        near = set(Occurrence.factor(["ab".index(c) for c in word], times=times).neighbours((), 2))
        other = Occurrence.factor(["ab".index(c) for c in shorter[0]], times=shorter[1])
        assert other in near
        assert Occurrence.factor(["ab".index(c) for c in word], times=times) in set(
            other.neighbours((), 2)
        )


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
    tier = frozenset((0, 1))
    in_order = Occurrence((0, 0, 0, 0, 0), (False, True, True, True), tier)
    assert Occurrence.factor((0, 0, 0, 0), tier, times=2) in set(in_order.neighbours((), 2))
    apart = Occurrence.factor((0, 0, 0, 0), times=3, overlap=False)
    assert apart in set(Occurrence.factor((0, 0, 0), times=6).neighbours((), 2))


def test_two_factors_of_which_one_forbids_the_other_are_found() -> None:
    """Words with "cccc" and without "dddd", as many as others; both together are rare."""
    truth = _contains("cccc").intersection(_contains("dddd").complement()).minimize()
    random = np.random.default_rng(0)
    words = []
    while len(words) < 1000:
        word = "".join(random.choice(list("abcd"), random.integers(20, 30)))
        place = int(random.integers(len(word) - 8))
        word = word[:place] + "cccc" + word[place + 4 :]
        if len(words) % 20 == 0:
            word = word[:place] + "ccccdddd" + word[place + 8 :]
        words += [word, "".join(random.choice(list("abcd"), random.integers(20, 30)))]
    found = kl.induce(words, truth.run_many(words).tolist())
    assert found.dfa == truth


def _contains(factor: str) -> DFA:
    feature = Occurrence.factor(["abcd".index(c) for c in factor]).feature(4)
    outputs = tuple(bool(one) for one in feature.values)
    return DFA(alphabet="abcd", transitions=feature.table, outputs=outputs)


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
        feature = Specialiser(pool).special(
            given.feature(16), np.ones(evidence.num_words, dtype=bool)
        )
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
