"""Evaluation against scikit-learn's figures, word by word."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    log_loss,
    precision_recall_fscore_support,
)

from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
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
