"""The errors of sigmoid, tanh and exp that proofs assume, over all float32 values."""

from __future__ import annotations

import json

import numpy as np
import pytest
from function_errors import BOUNDS, CUT, RESULTS, farthest, farthest_power, largest_errors

from kleene.proof import functions
from kleene.proof.functions import MEASURED
from kleene.proof.verify_core import LOST

FINITE = 2**32 - 2 * 2**23  # all but infinities and NaN


def check(step: int) -> int:
    worst, count = largest_errors(step)
    for errors in worst.values():
        for name, error in errors.items():
            assert error <= BOUNDS[name]
    return count


def test_errors_on_a_sample_of_values():
    assert check(4099) > 1_000_000


@pytest.mark.slow
def test_errors_on_all_values():
    assert check(1) == FINITE


def test_an_error_is_seen():
    right, nan = np.array([0.5, 1.0]), float("nan")
    assert farthest(np.array([0.5, 0.75], np.float32), right) == 0.25
    assert farthest(np.array([nan, 1.0], np.float32), right) == np.inf
    x = np.array([-1.0, 0.0], np.float32)
    assert farthest_power(x, np.array([0.25, 1.0], np.float32), right) == 0.5
    assert farthest_power(x, np.array([0.5, nan], np.float32), right) == np.inf
    lost = np.array([0.0, 1.0])  # exp(-1000), say
    assert farthest_power(x, np.array([CUT, 1.0]), lost) == 0
    assert farthest_power(x, np.array([LOST, 1.0]), lost) == np.inf


def test_what_underflows_is_below_what_proofs_leave_for_it():
    assert CUT <= LOST / 2


def test_the_cpu_features_that_count_as_measured_were(monkeypatch):
    found = json.loads(RESULTS.read_text())
    assert found["values"] == FINITE
    assert set(MEASURED) <= set(found["errors"])
    for errors in (way for ways in found["errors"].values() for way in ways.values()):
        assert all(error <= BOUNDS[name] for name, error in errors.items())
    monkeypatch.setattr(functions, "cpu_features", lambda: MEASURED[0])
    assert functions.unmeasured() is None
    monkeypatch.setattr(functions, "cpu_features", lambda: "aarch64 SVE256")
    assert "never measured with aarch64 SVE256" in functions.unmeasured()
