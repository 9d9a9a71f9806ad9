"""The fingerprint of a model's rows tells which rows it was trained on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from toys import small_estimator

from kleene import Model
from kleene.data import fingerprint as module
from kleene.data.fingerprint import fingerprint, known_share

RANDOM = np.random.default_rng(0)
OLD = [RANDOM.integers(4, 30, 20) for _ in range(2_000)]
NEW = [RANDOM.integers(4, 30, 20) for _ in range(2_000)]


def test_a_complete_sample_is_exact_and_plain_json() -> None:
    found = json.loads(json.dumps(fingerprint(OLD)))
    assert found["rows"] == 2_000
    assert known_share(OLD[:7], found) == 1
    assert known_share(NEW, found) == 0
    assert known_share([*OLD[:30], *NEW[:10]], found) == 0.75


def test_the_order_of_the_rows_plays_no_role() -> None:
    assert fingerprint(OLD) == fingerprint(OLD[::-1])
    assert fingerprint(OLD) != fingerprint(OLD[1:])


def test_a_sample_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SAMPLE", 200)
    found = fingerprint(OLD)
    assert known_share(OLD, found) == 1
    assert known_share(NEW, found) == 0
    assert known_share([*OLD, *NEW], found) == pytest.approx(0.5, abs=0.1)
    assert known_share([], found) is None


def test_a_model_knows_its_rows_after_it_was_saved(tmp_path: Path) -> None:
    words, labels = ["ab", "ba", "aab", "bba"] * 5, [1, 0, 1, 0] * 5
    model = Model.load(small_estimator(epochs=1).fit(words, labels).save(tmp_path))
    assert model.was_trained_on(["ab", "ba"]) == 1
    assert model.was_trained_on(["ab", "bbbb"]) == 0.5
    assert model.was_trained_on([]) is None
