"""Wrong labels: machines found in spite of them, and none that explains them."""

from __future__ import annotations

from itertools import product
from math import comb, log2

import numpy as np
import pytest

import kleene as kl
from kleene.automata import DFA
from kleene.induction.refine import MOST_NOISE, Evidence, error_bits, mend, noisy_bits
from kleene.training.stages import Curriculum


def noisy_words(language: int, share: float, seed: int = 0) -> tuple[list[str], list[bool]]:
    words, labels = kl.languages.tomita(language).sample(1500, lengths=range(16), seed=seed)
    for i in np.random.default_rng(seed).permutation(len(labels))[: round(share * len(labels))]:
        labels[i] = not labels[i]
    return words, labels


def memorising(dfa: DFA, depth: int) -> DFA:
    """The same language, with a state of its own for every word of up to `depth` symbols."""
    symbols = dfa.alphabet
    short = ["".join(map(str, w)) for n in range(depth + 1) for w in product(symbols, repeat=n)]
    numbers = {word: i for i, word in enumerate(short)}
    table = [
        [
            numbers.get(f"{word}{symbol}", len(short) + dfa.trace(f"{word}{symbol}")[-1])
            for symbol in symbols
        ]
        for word in short
    ]
    return DFA(
        alphabet=symbols,
        transitions=[*table, *(dfa.transitions + len(short)).tolist()],
        outputs=[*(dfa.run(word) for word in short), *dfa.outputs],
    )


@pytest.mark.parametrize("errors", [0, 1, 7, 100, 150])
def test_errors_cost_what_it_takes_to_name_them(errors: int) -> None:
    machine = 5 * (2 * log2(5) + log2(1000))
    wanted = machine + log2(comb(1000, errors))
    assert noisy_bits(5, 2, errors, 1000) == pytest.approx(wanted, rel=1e-9)


def test_one_more_error_costs_about_the_difference() -> None:
    for errors in (10, 50, 140):
        difference = noisy_bits(3, 2, errors + 1, 1000) - noisy_bits(3, 2, errors, 1000)
        assert error_bits(errors, 1000) == pytest.approx(difference, abs=0.2)


def test_chance_is_not_cheap() -> None:
    """Beyond the noise that is reckoned with, every error costs the same, however many."""
    steps = np.diff(
        [noisy_bits(3, 2, errors, 1000) for errors in range(int(MOST_NOISE * 1000), 900)]
    )
    assert steps.min() == pytest.approx(steps.max())
    assert steps.min() > 2


@pytest.mark.parametrize("language", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("share", [0.05, 0.1])
def test_states_that_only_explain_wrong_labels_are_merged(language: int, share: float) -> None:
    truth = kl.languages.tomita(language).dfa
    words, labels = noisy_words(language, share)
    start = memorising(truth, 3)
    found = mend(start, Evidence.of(words, labels, start, (False, True)))
    assert found.dfa == truth
    assert found.errors <= round(share * len(words))


@pytest.mark.parametrize("language", [3, 4, 7])
def test_wrong_turns_are_mended_in_spite_of_the_noise(language: int) -> None:
    truth = kl.languages.tomita(language).dfa
    words, labels = noisy_words(language, 0.05)
    table = truth.transitions.copy()
    table[1, 0] = (table[1, 0] + 1) % len(table)
    start = DFA(alphabet=truth.alphabet, transitions=table, outputs=truth.outputs)
    assert start != truth
    assert mend(start, Evidence.of(words, labels, start, (False, True))).dfa == truth


def test_a_level_that_is_fair_is_left_sooner() -> None:
    curriculum = Curriculum()
    assert curriculum.passed(0.98, 1)
    assert not curriculum.passed(0.9, curriculum.fair_steps - 1)
    assert curriculum.passed(0.9, curriculum.fair_steps)
    assert not curriculum.passed(0.7, curriculum.steps - 1)
    assert curriculum.passed(0.7, curriculum.steps)


@pytest.mark.slow
@pytest.mark.parametrize("language", [1, 4])
def test_the_language_is_learned_from_noisy_labels(language: int) -> None:
    words, labels = noisy_words(language, 0.05)
    made = kl.SequenceClassifier(random_state=0).fit(words, labels)
    reading = made.extract(words)
    assert reading.dfa == kl.languages.tomita(language).dfa
    assert reading.certificate is not None
