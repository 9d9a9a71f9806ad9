"""`kl.induce`: small automata from labelled sequences, without a network."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import kleene as kl
from kleene.automata import DFA
from kleene.errors import DataError, SettingError
from kleene.induction.budget import Budget
from kleene.induction.evidence import Evidence
from kleene.induction.features import (
    Feature,
    counter,
    factor,
    factor_counter,
    features,
    sequence,
    subsequence,
)
from kleene.induction.patterns import patterns


@pytest.mark.parametrize("number", range(1, 8))
def test_tomita_languages_are_found(number: int) -> None:
    language = kl.languages.tomita(number)
    found = kl.induce(*language.sample(1500, seed=1))
    assert found.dfa == language.dfa
    assert found.training_errors == found.held_out_errors == 0
    assert found.origin == "merged from the data"


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


@pytest.mark.parametrize("word", WORDS)
def test_features_are_what_they_say(word: str) -> None:
    ab, every = (0, 1), (0, 1, 2)
    occurrences = sum(word[i : i + 2] == "ab" for i in range(len(word)))
    tier = word.replace("c", "")
    assert value(factor(ab, every, 3), word) == ("ab" in word)
    assert value(factor(ab, every, 3, times=2), word) == (word.count("ab") >= 2)
    assert value(factor(ab, every, 3, place="start"), word) == word.startswith("ab")
    assert value(factor(ab, every, 3, place="end"), word) == word.endswith("ab")
    assert value(factor(ab, (0, 1), 3), word) == ("ab" in tier)
    assert value(factor(ab, (0, 1), 3, place="start"), word) == tier.startswith("ab")
    assert value(subsequence((0, 2, 1), 3), word) == (
        "a" in word
        and "c" in word[word.find("a") :]
        and "b" in word[word.find("c", word.find("a")) :]
    )
    assert value(sequence((0, 1), (1,), 3), word) == ("b" in word.partition("ab")[2])
    assert value(counter((1, 2, 0), 3), word) == (word.count("a") + 2 * word.count("b")) % 3
    assert value(factor_counter(ab, 2, 3), word) == occurrences % 2


@pytest.mark.parametrize("width", [2, 4, 9])
def test_features_stay_within_their_tables(width: int) -> None:
    for feature in features(width, 800):
        assert feature.table.shape == (feature.num_states, width)
        assert 0 <= feature.table.min() <= feature.table.max() < feature.num_states
        assert len(feature.values) == feature.num_states


def test_a_product_of_two_patterns_is_found() -> None:
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("abcd"), random.integers(0, 20))) for _ in range(1200)]
    labels = [("ab" in word) != (word.count("c") % 2 == 1) for word in words]
    evidence = Evidence.from_rows(words, labels, alphabet="abcd", classes=(False, True))
    best = patterns(evidence, Budget())[0].dfa
    assert best.num_states == 6
    assert best.run_many(words).tolist() == labels


@pytest.mark.parametrize("seed", [-1, None, 0.5])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(SettingError, match="seed must be a whole number >= 0"):
        kl.induce(["a", "b"], [0, 1], seed=seed)
