"""Sequences of numbers as sequences of symbols: quantile bins, or SAX.

SAX (symbolic aggregate approximation, Lin et al. 2003) subtracts the mean of each sequence, divides
by its standard deviation and cuts at the quantiles of the normal distribution; quantile bins cut at
the quantiles of all training numbers.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from statistics import NormalDist
from typing import Any

import numpy as np

from kleene.errors import DataError, ModelError, SettingError

KINDS = ("quantiles", "sax")
MAX_BINS = 1000
MAX_SAMPLED = 1_000_000  # sampled to find quantiles
MIN_DIGITS, MAX_DIGITS = 3, 12  # of the edges of bins
_SPLIT = re.compile(r"[\s,;]+")


@dataclass(frozen=True, kw_only=True)
class Bins:
    """How numbers become symbols; quantile bins have `edges` after `fit`.

    >>> Bins.parse("3").fit([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]).symbols([0.5, 3.0, 9.0])
    ('<2.67', '2.67..4.33', '>=4.33')
    >>> Bins.parse("sax:4").symbols([1.0, 2.0, 3.0, 4.0])
    ('a', 'b', 'c', 'd')
    """

    count: int
    kind: str = "quantiles"
    edges: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SettingError(f"bins must be of kind {' or '.join(KINDS)}, got {self.kind!r:.40}")
        most = 26 if self.kind == "sax" else MAX_BINS
        if not 2 <= self.count <= most:
            raise SettingError(f"bins must be 2 to {most} for {self.kind}, got {self.count}")

    @classmethod
    def parse(cls, text: str) -> Bins:
        """The bins that `8`, `quantiles:8` or `sax:8` names."""
        kind, _, count = text.rpartition(":")
        if not re.fullmatch(r"[0-9]{1,6}", count):
            raise SettingError(f"bins must be a number, quantiles:N or sax:N, got {text!r:.40}")
        return cls(count=int(count), kind=kind or "quantiles")

    @property
    def is_fitted(self) -> bool:
        """Whether numbers can be turned into symbols."""
        return self.kind == "sax" or self.edges is not None

    def fit(self, sequences: Iterable[Sequence[float]], seed: int = 0) -> Bins:
        """The same with edges; of many numbers a random sample decides."""
        if self.is_fitted:
            return self
        sample: list[float] = []
        random = np.random.default_rng(seed)
        for seen, number in enumerate(chain.from_iterable(sequences), 1):
            if seen <= MAX_SAMPLED:
                sample.append(number)
            elif (place := int(random.integers(seen))) < MAX_SAMPLED:
                sample[place] = number  # a reservoir: every number is as likely to stay
        if not sample:
            raise DataError("there are no numbers to find the bins from; check the text column")
        cuts = np.quantile(sample, np.arange(1, self.count) / self.count)
        return replace(self, edges=_rounded([min(sample), *cuts.tolist(), max(sample)]))

    def symbols(self, numbers: Sequence[float]) -> tuple[str, ...]:
        """The symbol of each number."""
        if self.kind == "sax":
            return _sax(numbers, self.count)
        if self.edges is None:
            raise SettingError("bins must be fitted to the training numbers first; call fit")
        names = _names(self.edges)
        return tuple(names[bisect_right(self.edges, number)] for number in numbers)

    def to_dict(self) -> dict[str, Any]:
        """The bins as plain values."""
        edges = None if self.edges is None else list(self.edges)
        return {"kind": self.kind, "count": self.count, "edges": edges}

    @classmethod
    def from_dict(cls, content: Any) -> Bins:
        """The bins that `to_dict` wrote."""
        try:
            edges = content["edges"]
            numbers = None if edges is None else tuple(float(edge) for edge in edges)
            if numbers and not all(map(math.isfinite, numbers)):
                raise ValueError("an edge is not finite")
            return cls(count=int(content["count"]), kind=str(content["kind"]), edges=numbers)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"the bins of the model are malformed ({error})") from None


def as_numbers(sequence: object) -> list[float]:
    """The numbers of a sequence, or of a text with white space, commas or semicolons between."""
    parts: Iterable[Any]
    parts = _SPLIT.split(sequence.strip()) if isinstance(sequence, str) else sequence  # type: ignore[assignment]
    numbers = []
    for part in parts:
        try:
            number = math.nan if isinstance(part, bool) else float(part)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise DataError(f"a sequence must hold finite numbers, got {part!r:.40}")
        numbers.append(number)
    return numbers


def _sax(numbers: Sequence[float], count: int) -> tuple[str, ...]:
    values = np.asarray(numbers, dtype=np.float64)
    if not len(values):
        return ()
    spread = float(values.std())
    scaled = (values - values.mean()) / (spread if spread > 0 else 1.0)
    cuts = [NormalDist().inv_cdf(i / count) for i in range(1, count)]
    return tuple(chr(ord("a") + i) for i in np.searchsorted(cuts, scaled, side="right").tolist())


def _rounded(points: Sequence[float]) -> tuple[float, ...]:
    """All points but the first and the last, to as few digits as move no edge by 1 % of a bin."""
    exact = [float(f"{point:.{MAX_DIGITS}g}") for point in points]
    gap = min((high - low for low, high in pairwise(exact) if high > low), default=math.inf)
    for digits in range(MIN_DIGITS, MAX_DIGITS):
        edges = [float(f"{cut:.{digits}g}") for cut in exact[1:-1]]
        if all(abs(a - b) <= gap / 100 for a, b in zip(edges, exact[1:-1], strict=True)):
            return tuple(dict.fromkeys(edges))
    return tuple(dict.fromkeys(exact[1:-1]))


def _names(edges: Sequence[float]) -> list[str]:
    if not edges:
        return ["any"]
    short = [(edge, f"{edge:g}") for edge in edges]
    texts = [text if float(text) == edge else f"{edge:.{MAX_DIGITS}g}" for edge, text in short]
    between = [f"{low}..{high}" for low, high in pairwise(texts)]
    return [f"<{texts[0]}", *between, f">={texts[-1]}"]
