"""The reliability diagram: accuracy against confidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kleene.errors import DataError
from kleene.evaluation.calibration import Reliability
from kleene.report.plots import COLORS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW = 10
"""Bins of fewer words are not drawn, since they say little."""


def reliability_diagram(curves: Mapping[str, Reliability]) -> Figure:
    """Accuracy against confidence, one line each, with its calibration error; ideal is dashed.

    `curves` are found by the names that the figure shows.
    """
    from matplotlib.figure import Figure

    if not curves:
        raise DataError("expected at least one curve from `reliability(...)`, got none")
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.subplots()
    lowest = 1.0
    for i, (name, curve) in enumerate(curves.items()):
        drawn = curve.counts >= min(FEW, curve.counts.max(initial=0))
        drawn &= curve.counts > 0
        lowest = min(lowest, *curve.confidence[drawn], *curve.accuracy[drawn])
        axes.plot(
            curve.confidence[drawn],
            curve.accuracy[drawn],
            label=f"{name}: {100 * curve.error:.1f} %",
            color=COLORS[i % len(COLORS)],
            marker="os^Dv"[i // 3 % 5],
            markersize=4,
        )
    ends = np.array([max(0.0, lowest - 0.03), 1.0])
    axes.plot(ends, ends, "--", color="#777777", linewidth=1)
    axes.set_xlabel("probability of the answer")
    axes.set_ylabel("share of such answers that is right")
    axes.legend(title="calibration error", fontsize=8)
    return figure
