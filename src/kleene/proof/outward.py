"""Outward-rounded arithmetic: `verify --exact` runs the verifier's formulas on enclosures.

An `Enclosure` holds two float64 arrays with the true real number between them. Sums, products and
quotients are rounded outward by `nextafter`; sums of products by the bound of Higham, ch. 3, which
holds in any order and with fused multiply-add; exp and tanh come from a Taylor series, whose error
is known. So nothing is assumed of float64 but IEEE 754 itself: no mathematical library is called.
NumPy's operators and functions work on enclosures; comparisons are true only if they are certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

Array = NDArray[np.float64]

UNIT = 2.0**-53  # rounding unit of float64
TINY = 2.0**-1000  # more than what underflow loses in a sum of products
TERMS = 17  # of the Taylor series: 0.36^18 / 18! is below 2^-60
SERIES = 128 * UNIT
LN2_HIGH = float.fromhex("0x1.62e42feep-1")  # 32 bits: products with whole numbers are exact
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


class Enclosure(NDArrayOperatorsMixin):
    """Real numbers, each between `lo` and `hi`; points if `hi` is left out."""

    def __init__(self, lo: Any, hi: Any = None) -> None:
        self.lo: Array = np.asarray(lo, np.float64)
        self.hi: Array = self.lo if hi is None else np.asarray(hi, np.float64)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        rule = RULES.get(ufunc)
        if rule is None or method != "__call__":
            return NotImplemented
        return rule(*(x if isinstance(x, Enclosure) else Enclosure(x) for x in inputs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Enclosure:
        """Functions that move numbers and compute nothing: stack, hstack, delete."""

        def end(value: Any, name: str) -> Any:
            if isinstance(value, list | tuple):
                return [end(part, name) for part in value]
            return getattr(value, name) if isinstance(value, Enclosure) else value

        return Enclosure(*(function(*end(args, name), **kwargs) for name in ("lo", "hi")))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lo.shape

    @property
    def size(self) -> int:
        return self.lo.size

    @property
    def T(self) -> Enclosure:  # noqa: N802  (NumPy's name)
        return self._ends(np.transpose)

    def __len__(self) -> int:
        return len(self.lo)

    def __iter__(self) -> Iterator[Enclosure]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Enclosure:
        return self._ends(lambda end: end[index])

    def __setitem__(self, index: Any, value: float) -> None:
        self.lo[index] = self.hi[index] = value

    def __float__(self) -> float:
        """The end that is certainly not too large."""
        return float(self.lo)

    def reshape(self, *shape: int) -> Enclosure:
        return self._ends(lambda end: end.reshape(*shape))

    def max(self, axis: int | None = None, initial: float = -np.inf) -> Enclosure:
        return self._ends(lambda end: end.max(axis, initial=initial))

    def min(self, axis: int | None = None) -> Enclosure:
        return self._ends(lambda end: end.min(axis))

    def _ends(self, function: Callable[[Array], Any]) -> Enclosure:
        """A function of both ends, or of the one that a point has."""
        lo = function(self.lo)
        return Enclosure(lo, None if self.lo is self.hi else function(self.hi))

    def sum(self, axis: int) -> Enclosure:
        """The sum of numbers that are not negative."""
        return self._add(np.add.reduce, axis)

    def cumsum(self, axis: int) -> Enclosure:
        """The sums of numbers that are not negative and those before them."""
        return self._add(np.cumsum, axis)

    def _add(self, add: Callable[..., Array], axis: int) -> Enclosure:
        if (self.lo < -TINY).any():
            raise ValueError("sums are for numbers that are not negative")
        error = 2 * UNIT * self.shape[axis]
        lo, hi = add(np.maximum(self.lo, 0), axis=axis), add(self.hi, axis=axis)
        return _rounded(lo * (1 - error), hi * (1 + error))


def _rounded(lo: Array, hi: Array) -> Enclosure:
    return Enclosure(np.nextafter(lo, -np.inf), np.nextafter(hi, np.inf))


def _multiply(a: Enclosure, b: Enclosure) -> Enclosure:
    ends = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return _rounded(np.minimum.reduce(ends), np.maximum.reduce(ends))  # nan stays


def _divide(a: Enclosure, b: Enclosure) -> Enclosure:
    """A quotient by positive numbers; nan, which is inside no box, where they may not be."""
    positive = b.lo > 0
    inverse = [np.where(positive, 1 / np.where(positive, end, 1), np.nan) for end in (b.hi, b.lo)]
    return _multiply(a, _rounded(*inverse))


def _matmul(a: Enclosure, b: Enclosure) -> Enclosure:
    (p, p_radius), (q, q_radius) = _middle(a), _middle(b)
    error = 2 * UNIT * (p.shape[-1] + 4)
    radius = error * (abs(p) @ abs(q)) + TINY
    if q_radius is not None:
        radius = radius + abs(p) @ q_radius
    if p_radius is not None:
        radius = radius + p_radius @ (abs(q) + (0 if q_radius is None else q_radius))
    radius, product = radius * (1 + 2 * error), p @ q
    return _rounded(product - radius, product + radius)


def _middle(a: Enclosure) -> tuple[Array, Array | None]:
    """A point in the middle and how far the ends are from it; None where there is but a point."""
    if a.lo is a.hi:
        return a.lo, None
    middle = a.lo + (a.hi - a.lo) / 2
    return middle, np.nextafter(np.maximum(a.hi - middle, middle - a.lo), np.inf)


def _absolute(a: Enclosure) -> Enclosure:
    ends = abs(a.lo), abs(a.hi)
    across = (a.lo <= 0) & (a.hi >= 0)
    return Enclosure(np.where(across, 0, np.minimum(*ends)), np.maximum(*ends))


def exp(x: Enclosure) -> Enclosure:
    """e^x; the ends are taken apart, since it grows."""
    low, high = (_exp_of_points(np.clip(end, -740, 709)) for end in (x.lo, x.hi))
    return Enclosure(np.where(x.lo < -740, 0, low.lo), np.where(x.hi > 709, np.inf, high.hi))


def _exp_of_points(x: Array) -> Enclosure:
    """e^x = 2^k e^r for a whole number k and |r| < 0.36, whose series is summed.

    x - k LN2_HIGH is exact, so that r is off by half a unit. A sum of 17 terms by Horner's rule has
    51 roundings; it is off by 51 units of e^|r| (Higham, ch. 5), or 51 e^0.72 < 106 of e^r. What
    the series leaves out is below 2^-60. `SERIES` is more than all of that.
    """
    k = np.rint(np.nan_to_num(x) / (LN2_HIGH + LN2_LOW))
    r, total = (x - k * LN2_HIGH) - k * LN2_LOW, np.ones_like(x)
    for n in range(TERMS, 0, -1):
        total = 1 + total * r / n
    ends = total * (1 - SERIES), total * (1 + SERIES)
    return _rounded(*(np.ldexp(end, k.astype(np.int64)) for end in ends))


RULES: dict[Any, Callable[..., Any]] = {
    np.add: lambda a, b: _rounded(a.lo + b.lo, a.hi + b.hi),
    np.subtract: lambda a, b: _rounded(a.lo - b.hi, a.hi - b.lo),
    np.negative: lambda a: Enclosure(-a.hi, -a.lo),
    np.absolute: _absolute,
    np.multiply: _multiply,
    np.true_divide: _divide,
    np.matmul: _matmul,
    np.maximum: lambda a, b: Enclosure(np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi)),
    np.minimum: lambda a, b: Enclosure(np.minimum(a.lo, b.lo), np.minimum(a.hi, b.hi)),
    np.less: lambda a, b: a.hi < b.lo,
    np.less_equal: lambda a, b: a.hi <= b.lo,
    np.greater: lambda a, b: a.lo > b.hi,
    np.greater_equal: lambda a, b: a.lo >= b.hi,
    np.sqrt: lambda a: _rounded(*(np.sqrt(np.maximum(end, 0)) for end in (a.lo, a.hi))),
    np.exp: exp,
    np.tanh: lambda a: 1 - 2 / (exp(2 * a) + 1),
}
