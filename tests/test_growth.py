"""The benchmark of growth: its exponents and its operations."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def growth(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    described = importlib.util.spec_from_file_location("growth_script", BENCHMARKS / "growth.py")
    assert described is not None
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


@pytest.mark.parametrize("power", [0, 0.5, 1, 2])
def test_exponents_are_those_of_the_far_end(growth, power: float) -> None:
    sizes = [10, 100, 1000, 10_000]
    assert growth.exponent(sizes, [1e-3 + n**power for n in sizes]) == pytest.approx(
        power, abs=0.02
    )


def test_every_operation_runs(growth) -> None:
    for make, _, axes in growth.JOBS.values():
        assert set(axes) <= set(growth.BASE)
        make({"words": 3, "length": 4, "alphabet": 3, "states": 3})()
