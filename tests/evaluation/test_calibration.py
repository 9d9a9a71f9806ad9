"""Calibration, against closed forms and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from kleene.evaluation.calibration import reliability


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
