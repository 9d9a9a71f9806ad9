"""Errors weighed against bits, other automata that explain the rows, and questions among them."""

from __future__ import annotations

from functools import reduce
from itertools import combinations, product
from operator import or_

import numpy as np
import pytest

import kleene as kl
from kleene.automata import DFA
from kleene.induction.features import Occurrence
from kleene.induction.kernels import MIN_ERRORS, noise_bits
from kleene.induction.result import questions
from kleene.select import choose_automaton


def with_factor(*factors: str) -> DFA:
    """Words over a, b, c, d that have one of the factors."""
    machines = []
    for factor in factors:
        word = ["abcd".index(letter) for letter in factor]
        feature = Occurrence.factor(word).feature(4)
        outputs = tuple((feature.values == 1).tolist())
        machines.append(DFA(alphabet="abcd", transitions=feature.table, outputs=outputs))
    return reduce(or_, machines).minimize()


def random_words(count: int, lengths: range, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    return ["".join(random.choice(list("abcd"), random.choice(lengths))) for _ in range(count)]


def test_the_first_errors_cost_most() -> None:
    found = [noise_bits(errors, 1024) for errors in (0, 1, 2, MIN_ERRORS, 300)]
    assert found == pytest.approx([0, 50, 60, 90, 90])


@pytest.mark.parametrize("rare", [1, 3])
def test_clean_rows_are_not_explained_by_a_shorter_rule_with_errors(rare: int) -> None:
    """A factor that so few rows have is part of the rule."""
    truth = with_factor("ab", "dddd")
    words = [w for w in random_words(4000, range(12, 20)) if "ab" in w or "dddd" not in w][:1990]
    special = [w for w in random_words(40_000, range(12, 20), 1) if "dddd" in w and "ab" not in w]
    words += special[:rare]
    found = kl.induce(words, truth.run_many(words).tolist())
    assert found.training_errors == 0
    assert found.dfa.accepts("cccdddd")


@pytest.mark.parametrize("wrong", [8, 40])
def test_wrong_labels_are_not_explained(wrong: int) -> None:
    truth = with_factor("ab")
    words = random_words(2000, range(12))
    labels = [label != (i < wrong) for i, label in enumerate(truth.run_many(words).tolist())]
    found = kl.induce(words, labels)
    assert found.dfa == truth


def test_one_wrong_row_does_not_add_states_to_a_table() -> None:
    language = kl.languages.tomita(5)
    words, labels = language.sample(2000, seed=3)
    labels[words.index(max(words, key=len))] ^= True
    assert kl.induce(words, labels).dfa == language.dfa


def test_alternatives_explain_the_rows_and_are_told_apart_by_the_questions() -> None:
    """Every word with "ab" has "abc": the rows do not say which is the rule."""
    words = [w.replace("ab", "abc") for w in random_words(600, range(10, 16))]
    labels = ["ab" in word for word in words]
    found = kl.induce(words, labels)
    others = found.alternatives
    assert len(others) > 1
    for one, two in combinations((found.dfa, *others), 2):
        assert one != two
    for one in others:
        assert one.run_many(words).tolist() == labels
        assert one.num_states == one.minimize().num_states
    asked = found.questions(5)
    assert 0 < len(asked) <= 5
    for word in asked:
        assert len({bool(one.run(word)) for one in (found.dfa, *others)}) == 2
    truths = {"ab": with_factor("ab"), "abc": with_factor("abc")}
    for truth in truths.values():
        rows, answers = list(words), list(labels)
        for _ in range(4):
            more = kl.induce(rows, answers).questions(5)
            rows += more
            answers += truth.run_many(more).tolist()
        assert kl.induce(rows, answers).dfa == truth


def test_short_rows_of_every_word_leave_no_question() -> None:
    words = ["".join(w) for n in range(8) for w in product("01", repeat=n)]
    language = kl.languages.tomita(4)
    found = kl.induce(words, [language.contains(word) for word in words])
    assert found.dfa == language.dfa
    assert found.questions(5) == []


def test_questions_divide_the_automata_into_groups() -> None:
    automata = [with_factor(a + b) for a, b in product("abcd", repeat=2)]
    words = questions(automata, 100)
    answers = {tuple(bool(one.run(word)) for word in words) for one in automata}
    assert len(answers) == len(automata)
    assert [len(word) for word in words] == sorted(len(word) for word in words)
    assert len(questions(automata, 3)) == 3
    assert questions(automata[:1], 3) == []


def test_a_smaller_table_needs_evidence_of_wrong_labels() -> None:
    from test_select import automaton

    for errors, smaller in ((1, False), (MIN_ERRORS + 10, True)):
        pattern = automaton(50, 20, (errors, 0), table=900)
        small = automaton(3, 40, (errors + 1, 0))
        assert (choose_automaton([pattern, small]) is small) == smaller
