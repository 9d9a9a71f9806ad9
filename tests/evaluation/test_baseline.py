"""The n-gram baseline against scikit-learn's own counts, and the figures of a run."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from toys import make_network, words_ending_in_5

from kleene.data.examples import Examples
from kleene.evaluation import baseline
from kleene.evaluation.baseline import ngram_accuracy, ngrams
from kleene.evaluation.figures import answers, measure
from kleene.evaluation.metrics import evaluate, wilson_interval

RANDOM = np.random.default_rng(0)
WORDS = [RANDOM.integers(0, 4, length) for length in [0, 1, 2, *RANDOM.integers(0, 12, 40)]]


def test_ngrams_are_those_that_scikit_learn_counts() -> None:
    rows, keys = ngrams(WORDS, base=4)
    texts = ["".join("abcd"[i] for i in word) for word in WORDS]
    counter = CountVectorizer(analyzer="char", ngram_range=(1, 3))
    table = counter.fit_transform(texts).toarray()
    assert len(np.unique(keys)) == table.shape[1]
    for row, counts in enumerate(table):
        _, found = np.unique(keys[rows == row], return_counts=True)
        assert sorted(found.tolist()) == sorted(counts[counts > 0].tolist())


def test_the_baseline_learns_what_ngrams_show_and_not_what_they_hide() -> None:
    words = [RANDOM.integers(4, 8, 12) for _ in range(600)]
    shown = np.array([int(4 in word) for word in words])
    hidden = np.array([int((word == 4).sum() % 2 == 0) for word in words])
    for labels, least, most in [(shown, 0.95, 1.0), (hidden, 0.0, 0.9)]:
        examples = Examples(words=words, labels=labels)
        found = ngram_accuracy(*examples.split(0.3, seed=0))
        assert least <= found <= most


def test_bounds_on_rows_and_ngrams(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = words_ending_in_5(5)
    monkeypatch.setattr(baseline, "MAX_ROWS", 40)
    monkeypatch.setattr(baseline, "MAX_FEATURES", 3)
    assert 0.4 < ngram_accuracy(examples, examples) < 1
    monkeypatch.setattr(baseline, "MAX_NGRAMS", 1)
    only = ngram_accuracy(examples, examples)  # one row is left, so one class
    assert only == pytest.approx(0.5, abs=0.02)


def test_every_figure_is_of_the_rows_it_names() -> None:
    others, held_out = words_ending_in_5(5).split(0.3, seed=0)
    training, validation = others.split(0.3, seed=1)
    network = make_network()
    answered = answers(network, training, held_out, baseline=True, seed=0)
    found = measure(network, training, validation, answered)
    rows = (found.training_rows, found.validation_rows, found.held_out_rows)
    assert rows == (len(training), len(validation), len(held_out))
    assert found.validation_accuracy == evaluate(network, validation).accuracy
    assert found.held_out_interval == wilson_interval(answered.right, len(held_out))
    assert found.training_accuracy == evaluate(network, training).accuracy
    assert found.held_out_accuracy == evaluate(network, held_out).accuracy
    assert found.baseline_accuracy == ngram_accuracy(training, held_out)
    counts = np.bincount(held_out.labels)
    assert found.majority_accuracy == pytest.approx(counts.max() / counts.sum())
    assert [one.rows for one in found.per_class] == counts.tolist()
    alone = measure(network, training, None, None)
    assert alone.held_out_accuracy is None
    assert alone.baseline_accuracy is None
    assert alone.training_accuracy == found.training_accuracy


def test_ids_may_be_larger_than_the_cube_root_of_an_integer() -> None:
    words = [RANDOM.integers(3_000_000, 3_000_004, 12) for _ in range(300)]
    words[0][0] = 9_000_000_000
    labels = np.array([int(3_000_001 in word[:2]) for word in words])
    small = [np.where(word > 4_000_000, 9, word - 2_999_995) for word in words]
    parts = Examples(words=words, labels=labels), Examples(words=small, labels=labels)
    large, plain = (ngram_accuracy(*part.split(0.3, seed=0)) for part in parts)
    assert large == plain
