"""Outward-rounded arithmetic against mpmath; `tests/fuzz/doors.py` compares the verifiers."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest

from kleene.proof.outward import Enclosure

VALUES = np.concatenate(
    [np.random.default_rng(0).normal(0, scale, 60) for scale in (1e-12, 1e-3, 0.3, 1, 5, 40, 300)]
)
UFUNCS = {np.exp: mpmath.exp, np.tanh: mpmath.tanh, np.sqrt: mpmath.sqrt, np.absolute: abs}
PAIRS = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b,
    np.true_divide: lambda a, b: a / b,
}


def holds(found: Enclosure, truth: list[mpmath.mpf], width: float) -> None:
    for low, high, value in zip(found.lo.flat, found.hi.flat, truth, strict=True):
        assert mpmath.mpf(low) <= value <= mpmath.mpf(high)
        assert high - low <= width * (abs(float(value)) + 1e-300)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
def test_functions_hold_the_truth_and_are_narrow(ufunc):
    with mpmath.workdps(60):
        x = abs(VALUES) if ufunc is np.sqrt else VALUES
        truth = [UFUNCS[ufunc](mpmath.mpf(value)) for value in x.tolist()]
        found = ufunc(Enclosure(x))
        for low, high, value in zip(found.lo, found.hi, truth, strict=True):
            assert mpmath.mpf(low) <= value <= mpmath.mpf(high)
        assert (found.hi - found.lo <= 1e-12 * (abs(found.lo) + 1)).all()


@pytest.mark.parametrize("ufunc", PAIRS, ids=lambda f: f.__name__)
def test_operations_hold_the_truth_and_are_narrow(ufunc):
    a, b = VALUES[::2], abs(VALUES[1::2]) + 1e-15
    with mpmath.workdps(60):
        numbers = zip(map(mpmath.mpf, a.tolist()), map(mpmath.mpf, b.tolist()), strict=True)
        holds(ufunc(Enclosure(a), b), [PAIRS[ufunc](x, y) for x, y in numbers], 1e-12)


def test_wide_enclosures_hold_the_results_of_all_their_points():
    random = np.random.default_rng(1)
    for _ in range(200):
        ends = np.sort(random.normal(0, 2, (2, 2)), axis=1)
        a, b = (Enclosure(low, high) for low, high in ends)
        x, y = (random.uniform(low, high, 20) for low, high in ends)
        for found, points in (
            (a + b, x + y), (a - b, x - y), (a * b, x * y), (-a, -x), (abs(a), abs(x)),
            (np.exp(a), np.exp(x)), (np.tanh(a), np.tanh(x)),
            (np.maximum(a, b), np.maximum(x, y)), (np.minimum(a, 0), np.minimum(x, 0)),
        ):  # fmt: skip
            assert (found.lo <= points + 1e-15).all()
            assert (points - 1e-15 <= found.hi).all()
        if ends[0, 0] < ends[1, 1] and ends[1, 0] < ends[0, 1]:
            assert not (a < b)
            assert not (a >= b)


def test_products_of_matrices_hold_the_truth():
    random = np.random.default_rng(2)
    for m, n, k in itertools.product((1, 3), (1, 40), (1, 5)):
        a, b = random.normal(0, 10, (m, n)), random.normal(0, 1e-3, (n, k))
        radius = abs(random.normal(0, 1e-6, a.shape))
        for one, inner in ((Enclosure(a), a), (Enclosure(a - radius, a + radius), a)):
            found = one @ b
            with mpmath.workdps(40):
                exact = mpmath.matrix(inner.tolist()) * mpmath.matrix(b.tolist())
            for i, j in itertools.product(range(m), range(k)):
                assert found.lo[i, j] <= exact[i, j] <= found.hi[i, j]
        sums = Enclosure(abs(a)).sum(1)
        with mpmath.workdps(40):
            for i in range(m):
                assert sums.lo[i] <= mpmath.fsum(map(abs, a[i].tolist())) <= sums.hi[i]


def test_what_is_not_known_is_never_certain():
    with np.errstate(all="ignore"):
        quotient = 1 / Enclosure(-1.0, 1.0)
        assert not (quotient <= np.inf)
        assert not (np.exp(Enclosure(np.nan)) >= 0)
    with pytest.raises(ValueError, match="not negative"):
        Enclosure(np.array([-1.0])).sum(0)
    assert float(np.exp(Enclosure(800.0))) > 1e300
    assert np.exp(Enclosure(800.0)).hi == np.inf
    assert np.exp(Enclosure(-800.0)).lo == 0
