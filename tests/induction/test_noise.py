"""Wrong labels: the curriculum goes on in spite of them, and the language is learned."""

from __future__ import annotations

import numpy as np
import pytest

import kleene as kl
from kleene.training.stages import Curriculum


def noisy_words(language: int, share: float, seed: int = 0) -> tuple[list[str], list[bool]]:
    words, labels = kl.languages.tomita(language).sample(1500, lengths=range(16), seed=seed)
    for i in np.random.default_rng(seed).permutation(len(labels))[: round(share * len(labels))]:
        labels[i] = not labels[i]
    return words, labels


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
