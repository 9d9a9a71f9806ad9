"""Drawn answers and calibration, against brute force, closed forms and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.calibration import calibration_curve

import kleene as kl
from kleene.errors import SettingError
from kleene.evaluation.calibration import reliability
from kleene.evaluation.metrics import predict
from kleene.evaluation.uncertainty import (
    Distribution,
    draw_predictions,
    drawn_states,
    dropped_units,
)
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig

WORDS = [np.array([4, 5, 4]), np.array([5]), np.zeros(0, dtype=np.int64), np.array([4] * 8)]


def network(**settings: object) -> Classifier:
    torch.manual_seed(0)
    given = {"num_symbols": 6, "num_classes": 2, "input_size": 4, "hidden_size": 8, "num_states": 3}
    made = Classifier(NetworkConfig(**{**given, **settings}))  # type: ignore[arg-type]
    with torch.no_grad():
        made.rnn.weight_hh_l0.mul_(4)
        made.head.weight.mul_(4)
    return made.eval()


def test_drawn_states_follow_the_probabilities() -> None:
    """The mean over draws is the sum over all paths of states, each with its probability."""
    made = network(cell="rnn", transition="sample")
    word = WORDS[0]
    hidden, mass = made.rnn.zeros(1), torch.ones(1)
    with torch.no_grad():
        for token in [2, *word]:  # every state of every step, and what leads to it
            gates = made.rnn.project(made.embedding.weight[token]).expand(len(hidden), -1)
            recurrence = made.rnn.recurrence(0)
            u, _ = recurrence.end(gates, hidden, None)
            alpha = torch.softmax(u @ made.rnn.centroids().T / made.rnn.temperature, -1)
            mass = (mass[:, None] * alpha).reshape(-1)
            hidden = made.rnn.centroids().repeat(len(u), 1)
        exact = (mass[:, None] * made.classify([hidden], [None]).softmax(-1)).sum(0)
    drawn = draw_predictions(made, WORDS, samples=4000, seed=1)
    np.testing.assert_allclose(drawn.mean[0], exact, atol=4 * drawn.spread[0].max() / 4000**0.5)
    assert drawn.spread[0].max() > 0.01


@pytest.mark.parametrize("transition", ["mixture", "soft-argmax", "gumbel", "gumbel-hard"])
def test_every_transition_has_draws_and_comes_back(transition: str) -> None:
    made = network(transition=transition, learn_temperature=True)
    before, own = predict(made, WORDS).probabilities, made.rnn.transition
    drawn = draw_predictions(made, WORDS, samples=5, noise=drawn_states)
    assert drawn.draws.shape == (5, 4, 2)
    assert drawn.spread.max() > 0
    assert made.rnn.transition is own
    assert (predict(made, WORDS).probabilities == before).all()


def test_the_states_of_a_mixture_are_drawn_only_when_asked_for() -> None:
    with pytest.raises(SettingError, match="noise=drawn_states"):
        draw_predictions(network(), WORDS, samples=2)
    made = network(dropout=0.5)
    own = draw_predictions(made, WORDS, samples=3, seed=1)
    dropped = draw_predictions(made, WORDS, samples=3, noise=dropped_units, seed=1)
    assert (own.draws == dropped.draws).all()


def test_the_same_seed_gives_the_same_draws_and_leaves_the_generator_alone() -> None:
    made = network(transition="gumbel")
    torch.manual_seed(5)
    wanted = torch.rand(1)
    torch.manual_seed(5)
    one, two, other = (draw_predictions(made, WORDS, samples=3, seed=s) for s in (1, 1, 2))
    assert torch.rand(1) == wanted
    assert (one.draws == two.draws).all()
    assert (one.draws != other.draws).any()


def test_dropout_is_the_only_noise_of_its_kind() -> None:
    made = network(num_states=0, dropout=0.5, cell="lstm")
    drawn = draw_predictions(made, WORDS, samples=4)
    assert drawn.spread.min() > 0
    assert not made.training
    regularized = network(transition="gumbel", dropout=1e-9)
    drawn = draw_predictions(regularized, WORDS, samples=4, noise=dropped_units)
    np.testing.assert_allclose(drawn.spread, 0, atol=1e-6)


def test_mistakes() -> None:
    with pytest.raises(SettingError, match="samples must be >= 1"):
        draw_predictions(network(), WORDS, samples=0)
    with pytest.raises(SettingError, match="dropout must be > 0"):
        draw_predictions(network(), WORDS, samples=2, noise=dropped_units)
    with pytest.raises(SettingError, match="num_states must be > 0"):
        draw_predictions(network(num_states=0), WORDS, samples=2, noise=drawn_states)


def test_entropy_and_mutual_information() -> None:
    agreed = Distribution(draws=np.full((4, 1, 2), 0.5, dtype=np.float32))
    assert agreed.entropy[0] == pytest.approx(np.log(2))
    assert agreed.mutual_information[0] == pytest.approx(0)
    split = np.zeros((2, 1, 2), dtype=np.float32)
    split[0, 0, 0] = split[1, 0, 1] = 1
    opposed = Distribution(draws=split)
    assert opposed.mutual_information[0] == pytest.approx(np.log(2), abs=1e-6)
    assert opposed.spread[0].tolist() == [0.5, 0.5]


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


def test_the_estimator_keeps_its_contract() -> None:
    words, labels = kl.languages.tomita(1).sample(60, lengths=range(6), seed=0)
    made = kl.SequenceClassifier(
        cell="lstm-p",
        states=3,
        network={"dropout": 0.3, "input_size": 4},
        hidden_size=6,
        training={"epochs": 1},
        random_state=0,
    ).fit(words, labels)
    drawn = made.predict_distribution(words, 6, seed=3)
    assert drawn.mean.shape == drawn.spread.shape == made.predict_proba(words).shape
    np.testing.assert_allclose(drawn.mean.sum(1), 1, atol=1e-5)
