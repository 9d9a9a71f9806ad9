"""Automata over many symbols: rare tests, lists of rules, and transitions learned all at once."""

import numpy as np
import pytest

import kleene as kl
from kleene.automata import DFA
from kleene.induction.evidence import Evidence
from kleene.induction.expectation import expected_table, expected_uses, has_short_words
from kleene.induction.features import Occurrence, word_bits
from kleene.induction.search import Budget


def _drawn(tests: list[Occurrence], width: int) -> tuple[DFA, list[tuple[int, ...]], list[bool]]:
    """The union of tests, with words half of which were made to pass one of them."""
    random = np.random.default_rng(0)
    truth = None
    for test in tests:
        feature = test.feature(width)
        outputs = tuple(bool(value) for value in feature.values)
        dfa = DFA(alphabet=range(width), transitions=feature.table, outputs=outputs)
        truth = dfa if truth is None else truth.union(dfa)
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


def test_a_symbol_that_occurred_before_costs_less():
    assert word_bits((5, 5, 5, 5), 64) < word_bits((5, 6, 7, 8), 64) == 24
    assert word_bits((0, 1, 0, 1), 2) == 4


def _random_automaton(width: int) -> tuple[DFA, list[tuple[int, ...]]]:
    random = np.random.default_rng(3)
    table = random.integers(0, 3, (3, width)).astype(np.int32)
    truth = DFA(alphabet=range(width), transitions=table, outputs=(False, True, True)).minimize()
    words = [tuple(random.integers(0, width, random.integers(0, 8)).tolist()) for _ in range(3000)]
    return truth, words


def test_expectation_finds_a_random_automaton_over_sixty_symbols():
    truth, words = _random_automaton(60)
    found = kl.induce(words, truth.run_many(words).tolist())
    assert found.dfa == truth


def test_expected_uses_are_those_of_all_paths():
    random = np.random.default_rng(0)
    transitions, outputs = random.dirichlet(np.ones(2), (3, 2)), random.dirichlet(np.ones(2), 2)
    words, labels = [(0, 2, 1), (1,), ()], [1, 0, 1]
    evidence = Evidence.from_rows(words, labels, alphabet=(0, 1, 2), classes=(0, 1))
    uses, ends, bits = expected_uses(
        transitions, outputs, evidence.symbols, evidence.starts, evidence.counts
    )
    by_hand, log_likelihood = np.zeros_like(transitions), 0.0
    for word, label in zip(words, labels, strict=True):
        paths = {}
        for code in range(2 ** len(word)):
            path = [0, *(code >> i & 1 for i in range(len(word)))]
            steps = zip(word, path, path[1:], strict=False)
            weight = np.prod([transitions[step] for step in steps]) * outputs[path[-1], label]
            paths[tuple(path)] = weight
        total = sum(paths.values())
        log_likelihood += np.log2(total)
        for path, weight in paths.items():
            for step in zip(word, path, path[1:], strict=False):
                by_hand[step] += weight / total
    assert np.allclose(uses, by_hand)
    assert np.isclose(bits, log_likelihood)
    assert np.isclose(ends.sum(), len(words))


def test_expectation_stops_with_its_budget_and_needs_short_words():
    truth, words = _random_automaton(60)
    labels = truth.run_many(words).tolist()
    evidence = Evidence.from_rows(words, labels, alphabet=range(60), classes=(False, True))
    budget = Budget(look_ups=1e5)
    assert expected_table(evidence, budget, 8, 0).shape == (8, 60)
    assert budget.work[0] < 1e6
    assert has_short_words(evidence)
    assert not has_short_words(evidence.subset(np.flatnonzero(np.diff(evidence.starts) > 3)))
