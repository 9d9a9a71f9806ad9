"""The reliability diagram."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kleene.errors import DataError
from kleene.evaluation.calibration import Reliability, reliability
from kleene.report.calibration import reliability_diagram
from kleene.report.plots import save


def curve() -> Reliability:
    random = np.random.default_rng(0)
    first = random.uniform(0, 1, 500)
    return reliability(np.stack([first, 1 - first], -1), random.integers(0, 2, 500))


def test_lines_are_the_bins(tmp_path: Path) -> None:
    one, two = curve(), reliability([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    figure = reliability_diagram({"one": one, "two": two})
    lines = figure.axes[0].lines
    full = one.counts > 0
    np.testing.assert_allclose(lines[0].get_xdata(), one.confidence[full])
    np.testing.assert_allclose(lines[0].get_ydata(), one.accuracy[full])
    assert lines[1].get_ydata().tolist() == [0.75]
    shown = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert shown == [f"one: {100 * one.error:.1f} %", "two: 0.0 %"]
    assert save(figure, tmp_path / "curve.png").stat().st_size > 1000


def test_a_curve_survives_json() -> None:
    one = curve()
    two = Reliability.from_dict(one.to_dict())
    np.testing.assert_array_equal(one.confidence, two.confidence)
    assert one.error == two.error


def test_nothing_to_draw() -> None:
    with pytest.raises(DataError, match="at least one curve"):
        reliability_diagram({})
