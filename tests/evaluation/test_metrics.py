"""Evaluation against scikit-learn's figures, word by word."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    log_loss,
    precision_recall_fscore_support,
)

from kleene.data.examples import Examples
from kleene.errors import DataError
from kleene.evaluation.metrics import (
    evaluate,
    length_batches,
    predict,
    reliability,
    wilson_interval,
)
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig

torch.set_num_threads(1)

WORDS = [np.array(w, dtype=np.int64) for n in range(5) for w in itertools.product((4, 5), repeat=n)]


@pytest.fixture
def examples() -> Examples:
    labels = np.random.default_rng(0).integers(0, 3, len(WORDS))
    return Examples(words=WORDS, labels=labels)


@pytest.fixture
def network() -> Classifier:
    torch.manual_seed(0)
    made = Classifier(
        NetworkConfig(num_symbols=6, num_classes=3, input_size=3, hidden_size=4, dropout=0.5)
    )
    torch.nn.init.normal_(made.head.weight, std=3)
    return made


@pytest.mark.parametrize("batch_size", [1, 7, 256])
def test_figures_are_scikit_learns_and_in_the_order_of_the_words(
    network, examples, batch_size
) -> None:
    found = evaluate(network, examples, batch_size)
    network.eval()
    alone = [
        network(examples.batch(np.array([i]))).double().softmax(-1)[0].detach().numpy()
        for i in range(len(examples))
    ]
    np.testing.assert_allclose(found.probabilities, alone, atol=1e-5)
    assert found.predicted.tolist() == np.argmax(alone, -1).tolist()
    assert found.accuracy == accuracy_score(examples.labels, found.predicted)
    assert (found.confusion == confusion_matrix(examples.labels, found.predicted)).all()
    assert found.loss == pytest.approx(log_loss(examples.labels, alone), rel=1e-4)
    assert 0 < found.accuracy < 1


@pytest.mark.parametrize("training", [True, False])
def test_the_network_is_left_as_it_was(network, examples, training) -> None:
    network.train(training)
    first, second = (evaluate(network, examples).probabilities for _ in range(2))
    assert (first == second).all()  # no dropout
    assert network.training == training


def test_no_words(network) -> None:
    found = evaluate(network, Examples(words=[], labels=np.zeros(0, dtype=np.int64)))
    assert found.loss == 0
    assert found.probabilities.shape == (0, 3)
    assert found.confusion.sum() == 0


def test_a_near_tie_is_decided_by_the_scores_not_by_rounded_probabilities(network) -> None:
    with torch.no_grad():
        network.head.weight.zero_()
        network.head.bias.copy_(torch.tensor([0.0, 1e-9, 0.0]))
    found = evaluate(network, Examples(words=WORDS, labels=np.zeros(len(WORDS), np.int64)))
    assert (found.probabilities.argmax(-1) == 0).all()
    assert (found.predicted == 1).all()


def test_figures_of_each_class_are_scikit_learns(network, examples) -> None:
    found = evaluate(network, examples)
    expected = precision_recall_fscore_support(
        found.labels, found.predicted, labels=[0, 1, 2], zero_division=0
    )
    for one, precision, recall, f1, rows in zip(found.per_class, *expected, strict=True):
        assert (one.precision, one.recall, one.f1) == pytest.approx((precision, recall, f1))
        assert one.rows == rows
    assert found.majority_accuracy == pytest.approx(np.bincount(examples.labels).max() / len(WORDS))


def test_predictions_need_no_labels_and_long_words_come_in_smaller_batches(
    network, examples, monkeypatch
) -> None:
    expected = evaluate(network, examples)
    monkeypatch.setattr(length_batches, "__defaults__", (9,))
    assert max(len(part) for part in length_batches(WORDS, 256)) < len(WORDS) / 4
    found = predict(network, WORDS)
    assert (found.predicted == expected.predicted).all()
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-6)


@pytest.mark.parametrize(("successes", "n"), [(0, 20), (20, 20), (7, 9), (480, 500)])
def test_wilson_intervals_are_scipys(successes, n) -> None:
    expected = binomtest(successes, n).proportion_ci(0.95, method="wilson")
    assert wilson_interval(successes, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_no_rows_leave_every_share_possible() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)
    with pytest.raises(DataError, match="successes"):
        wilson_interval(3, 2)


def test_reliability_agrees_with_scikit_learn() -> None:
    random = np.random.default_rng(0)
    positive = random.uniform(0.5, 1, 2000)  # the first class is always the answer
    labels = (random.uniform(size=2000) > positive**2).astype(int)
    found = reliability(np.stack([positive, 1 - positive], -1), labels, bins=10)
    shares, means = calibration_curve(labels == 0, positive, n_bins=10)
    full = found.counts > 0
    np.testing.assert_allclose(found.accuracy[full], shares)
    np.testing.assert_allclose(found.confidence[full], means)
    gaps = np.abs(shares - means) * found.counts[full] / 2000
    assert found.error == pytest.approx(gaps.sum())


def test_reliability_of_certainty_and_of_nothing() -> None:
    assert reliability([[1.0, 0.0], [0.0, 1.0]], [0, 1]).error == 0
    assert reliability([[1.0, 0.0], [0.0, 1.0]], [1, 0]).error == 1
    assert reliability(np.zeros((0, 2)), []).error == 0
