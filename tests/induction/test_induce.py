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


@pytest.mark.parametrize("number", range(1, 8))
def test_tomita_languages_are_found(number: int) -> None:
    language = kl.languages.tomita(number)
    found = kl.induce(*language.sample(1500, seed=1))
    assert found.dfa == language.dfa
    assert found.training_errors == found.held_out_errors == 0


@pytest.mark.parametrize(("number", "share"), [(1, 0.1), (3, 0.02), (5, 0.1), (6, 0.02)])
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


def test_a_limit_in_seconds_is_a_limit_of_work_and_reported() -> None:
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("abcdef"), 30)) for _ in range(3000)]
    labels = random.integers(0, 2, len(words)).tolist()
    one, other = (kl.induce(words, labels, seconds=0.2, seed=3) for _ in range(2))
    assert one.stopped_early
    assert one.work == other.work
    assert (one.dfa, one.description_length) == (other.dfa, other.description_length)
    assert "stopped by its budget" in str(one)


def test_the_result_prints_and_becomes_json() -> None:
    found = kl.induce(*kl.languages.tomita(4).sample(600, seed=0))
    text = str(found)
    assert "4-state automaton over 2 symbols" in text
    document = json.loads(json.dumps(found.to_dict()))
    assert DFA.from_json(json.dumps(document["dfa"])) == found.dfa
    assert document["states"] == 4
    assert document["accuracy"] == document["held_out_accuracy"] == 1


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
    for wrong in (-1, None, 0.5):
        with pytest.raises(SettingError, match="seed must be a whole number >= 0"):
            kl.induce(["a", "b"], [0, 1], seed=wrong)  # type: ignore[arg-type]
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


def test_counts_of_distinct_rows_give_the_automaton_of_all_rows_in_any_order() -> None:
    language = kl.languages.tomita(3)
    words, labels = language.sample(900, lengths=range(7), seed=2)
    labels = [label != (i % 20 == 0) for i, label in enumerate(labels)]
    counts: dict[tuple[str, bool], int] = {}
    for row in zip(words, labels, strict=True):
        counts[row] = counts.get(row, 0) + 1
    rows, weights = list(counts), list(counts.values())
    assert len(rows) < len(words)
    weighted = kl.induce([w for w, _ in rows], [y for _, y in rows], weights=weights, seed=1)
    order = np.random.default_rng(0).permutation(len(words)).tolist()
    shuffled = kl.induce([words[i] for i in order], [labels[i] for i in order], seed=1)
    one, two, three = (
        {**found.to_dict(), "seconds": 0.0}
        for found in (kl.induce(words, labels, seed=1), weighted, shuffled)
    )
    assert one == two == three


@pytest.mark.parametrize("weights", [[1], [1, -1], [0.5, 1], [0, 0], "ab"])
def test_weights_are_counts(weights: object) -> None:
    with pytest.raises(DataError, match="weight"):
        kl.induce(["a", "b"], [0, 1], weights=weights)
