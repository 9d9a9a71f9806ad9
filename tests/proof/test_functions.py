"""The errors of sigmoid, tanh and exp that proofs assume, over all float32 values.

The fast test looks at every 4,099th value, the slow one at all of them;
`python tests/proof/test_functions.py` prints the largest errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from numba import njit

from kleene.nn.fused.kernels import simd
from kleene.proof.verify_core import F, U

EXP = 16 * U  # relative; the softmax's factor of (k + 64) U has room for it
CUT = 2e-38  # what exp may be too large or too small by where its value underflows
CHUNK = 2**22


@njit
def compiled(x: int, s: int, t: int, e: int, n: int, both: bool) -> None:
    for i in range(0, n, simd.LANES):
        v = simd.get(x, i, n - i)
        if both:
            a, b = simd.sigmoid_and_tanh(v, v)
        else:
            a, b = simd.sigmoid(v), simd.tanh(v)
        simd.put(s, i, n - i, a)
        simd.put(t, i, n - i, b)
        simd.put(e, i, n - i, simd.exp(v))


def by_kernels(both: bool) -> Callable[[np.ndarray], tuple[np.ndarray, ...]]:
    def run(x: np.ndarray) -> tuple[np.ndarray, ...]:
        found = tuple(np.empty_like(x) for _ in range(3))
        compiled(x.ctypes.data, *(array.ctypes.data for array in found), len(x), both)
        return found

    return run


def by_torch(x: np.ndarray) -> tuple[np.ndarray, ...]:
    v = torch.from_numpy(x)
    return v.sigmoid().numpy(), v.tanh().numpy(), v.exp().numpy()


def values(step: int) -> Iterator[np.ndarray]:
    """Every `step`-th float32 that is finite, in chunks."""
    for begin in range(0, 2**32, CHUNK * step):
        bits = np.arange(begin, min(begin + CHUNK * step, 2**32), step, dtype=np.uint64)
        x = bits.astype(np.uint32).view(np.float32)
        yield x[np.isfinite(x)]


WAYS = {"kernels": by_kernels(False), "kernels, both": by_kernels(True), "torch": by_torch}


def largest_errors(step: int) -> dict[str, tuple[float, float, float]]:
    """Of sigmoid and tanh, absolutely, and of exp, as a share of what is allowed; by way."""
    worst = {name: np.zeros(3) for name in WAYS}
    for x in values(step):
        if not len(x):
            continue
        exact = x.astype(np.float64)
        with np.errstate(over="ignore", under="ignore"):
            right = 1 / (1 + np.exp(-exact)), np.tanh(exact)
            below = exact <= 0  # the softmax takes differences to the highest score
            power = np.exp(exact[below])
        for name, functions in WAYS.items():
            s, t, e = functions(x)
            off = abs(e[below] - power) / (EXP * power + CUT)
            found = abs(s - right[0]).max(), abs(t - right[1]).max(), off.max(initial=0)
            worst[name] = np.maximum(worst[name], found)  # nan stays
    return {name: tuple(errors.tolist()) for name, errors in worst.items()}


def check(step: int) -> None:
    for sigmoid, tanh, exp in largest_errors(step).values():
        assert sigmoid <= F
        assert tanh <= F
        assert exp <= 1


def test_errors_on_a_sample_of_values():
    check(4099)


@pytest.mark.slow
def test_errors_on_all_values():
    check(1)


if __name__ == "__main__":
    print(largest_errors(1))
