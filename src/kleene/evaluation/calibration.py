"""Whether probabilities mean what they say: of words answered with 80 %, are 80 % right?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """Words by the probability of their answer, in bins of equal width from 0 to 1."""

    confidence: Floats  # (bin,) the mean probability of the answers; NaN where a bin is empty
    accuracy: Floats  # (bin,) the share of them that is right; NaN likewise
    counts: NDArray[np.int64]  # (bin,) how many words there are

    @property
    def error(self) -> float:
        """Expected calibration error: the mean over words of |confidence - accuracy| of its bin."""
        gaps = np.abs(self.confidence - self.accuracy)
        total = max(int(self.counts.sum()), 1)
        return float(np.nansum(gaps * self.counts) / total)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; empty bins are null."""

        def plain(values: Floats) -> list[float | None]:
            return [None if np.isnan(value) else float(value) for value in values]

        return {
            "error": self.error,
            "confidence": plain(self.confidence),
            "accuracy": plain(self.accuracy),
            "counts": self.counts.tolist(),
        }


def reliability(probabilities: ArrayLike, labels: ArrayLike, bins: int = 15) -> Reliability:
    """Confidence and accuracy by bin, from probabilities, (word, class), and the right classes.

    >>> reliability([[0.9, 0.1], [0.9, 0.1]], [0, 1]).error  # right in half of the cases
    0.4
    """
    rows, right = np.asarray(probabilities, dtype=np.float64), np.asarray(labels)
    confidence, hit = rows.max(1, initial=0), rows.argmax(1) == right if len(rows) else right
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    counts = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        return Reliability(
            confidence=np.bincount(place, confidence, bins) / counts,
            accuracy=np.bincount(place, hit, bins) / counts,
            counts=counts,
        )
