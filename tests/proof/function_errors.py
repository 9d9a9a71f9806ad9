"""Largest errors of the compiled sigmoid, tanh and exp, and of torch's, over float32 values.

`python tests/proof/function_errors.py` measures all finite values, once for each set of CPU
features that torch can use here, some two minutes of CPU time each, and writes the results to
experiments/results/functions.json. With --here it prints the errors with this CPU as it is.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from c_code import call, compile_c
from numba import njit

from kleene.proof.functions import cpu_features
from kleene.proof.verify_core import F, U

RESULTS = Path(__file__).parents[2] / "experiments" / "results" / "functions.json"
EXP = 16 * U  # relative; the softmax's factor of (k + 64) U has room for it
CUT = 5e-38  # what exp may be too large or too small by where its value underflows
CHUNK = 2**20
WIDTH = 16  # of the rows whose softmax is taken: 0 and 15 values
BOUNDS = {"sigmoid": F, "tanh": F, "exp": EXP}
Functions = Callable[[np.ndarray], dict[str, np.ndarray]]


C_CODE = compile_c("""
#include "simd.h"
void compiled(float *x, float *s, float *t, float *e, int64_t n, int64_t both) {
    for (int64_t i = 0; i < n; i += LANES) {
        simd v = get(x + i, n - i), a = simd_sigmoid(v), b = simd_tanh(v);
        if (both) sigmoid_and_tanh(v, v, &a, &b);
        put(s + i, n - i, a);
        put(t + i, n - i, b);
        put(e + i, n - i, simd_exp(v));
    }
}
""")


def by_kernels(both: bool) -> Functions:
    def run(x: np.ndarray) -> dict[str, np.ndarray]:
        s, t, e = np.empty((3, len(x)), np.float32)
        call(C_CODE.compiled, *(a.ctypes.data for a in (x, s, t, e)), len(x), both)
        return {"sigmoid": s, "tanh": t, "exp": e}

    return run


def by_torch(x: np.ndarray) -> dict[str, np.ndarray]:
    v = torch.from_numpy(x)
    return {"sigmoid": v.sigmoid().numpy(), "tanh": v.tanh().numpy(), "exp": v.exp().numpy()}


def by_torch_softmax(x: np.ndarray) -> dict[str, np.ndarray]:
    """exp(x) as a quotient of two probabilities, those of x and of 0, for x up to 0."""
    rows = np.zeros((-(-len(x) // (WIDTH - 1)), WIDTH), np.float32)
    inner = np.zeros(len(rows) * (WIDTH - 1), np.float32)
    inner[: len(x)] = np.minimum(x, 0)
    rows[:, 1:] = inner.reshape(len(rows), -1)
    probs = torch.from_numpy(rows).softmax(-1).numpy()
    return {"exp": (probs[:, 1:] / probs[:, :1]).ravel()[: len(x)]}


WAYS: dict[str, Functions] = {
    "compiled": by_kernels(False),
    "compiled, both in one": by_kernels(True),
    "torch": by_torch,
    "torch, in a softmax": by_torch_softmax,
}


@njit
def truth(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """sigmoid, tanh and exp in float64.

    By series below 2^-30, where what is left out is below 2^-60, and by their limits beyond 128,
    from which they differ by less than 1e-55.
    """
    s, t, e = np.empty(len(x)), np.empty(len(x)), np.empty(len(x))
    for i in range(len(x)):
        v = np.float64(x[i])
        if abs(v) < 2.0**-30:
            s[i], t[i], e[i] = 0.5 + v / 4, v, 1 + v
        elif abs(v) > 128:
            s[i], t[i], e[i] = (1.0 if v > 0 else 0.0), math.copysign(1.0, v), 0.0
        else:
            s[i], t[i], e[i] = 1 / (1 + math.exp(-v)), math.tanh(v), math.exp(v)
    return s, t, e


@njit
def farthest(found: np.ndarray, right: np.ndarray) -> float:
    """The largest difference; infinite where something found is not a number."""
    worst = 0.0
    for i in range(len(found)):
        off = abs(found[i] - right[i])
        if not off <= worst:
            worst = off if off == off else math.inf
    return worst


@njit
def farthest_power(x: np.ndarray, found: np.ndarray, right: np.ndarray) -> float:
    """The largest relative difference beyond CUT where x <= 0, all that the softmax takes."""
    worst = 0.0
    for i in range(len(found)):
        if x[i] <= 0:
            off = abs(found[i] - right[i]) - CUT
            if not off <= worst * right[i]:
                worst = off / right[i] if right[i] > 0 and off == off else math.inf
    return worst


def values(step: int) -> Iterator[np.ndarray]:
    """Every `step`-th float32 that is finite, in chunks."""
    for begin in range(0, 2**32, CHUNK * step):
        bits = np.arange(begin, min(begin + CHUNK * step, 2**32), step, dtype=np.uint64)
        x = bits.astype(np.uint32).view(np.float32)
        yield x[np.isfinite(x)]


def largest_errors(step: int) -> tuple[dict[str, dict[str, float]], int]:
    """By way and function, and how many values were tried."""
    worst: dict[str, dict[str, float]] = {way: {} for way in WAYS}
    count = 0
    for x in values(step):
        if not len(x):
            continue
        count += len(x)
        right = dict(zip(BOUNDS, truth(x), strict=True))
        for way, functions in WAYS.items():
            for name, found in functions(x).items():
                arrays = found, right[name]
                error = farthest_power(x, *arrays) if name == "exp" else farthest(*arrays)
                worst[way][name] = max(worst[way].get(name, 0.0), error)
    return worst, count


def main() -> None:
    torch.set_num_threads(1)
    if "--here" in sys.argv:  # with the features that torch uses in this process
        started = time.process_time()
        worst, count = largest_errors(1)
        print(json.dumps([cpu_features(), worst, count, time.process_time() - started]))
        return
    errors, count, seconds = {}, 0, 0.0
    for capability in ("avx512", "avx2", "default"):
        environment = {**os.environ, "ATEN_CPU_CAPABILITY": capability}
        command = [sys.executable, __file__, "--here"]
        out = subprocess.run(command, env=environment, check=True, capture_output=True).stdout
        features, errors_here, count, took = json.loads(out)
        errors[features] = errors_here
        seconds += took
    about = {"torch": torch.__version__, "values": count, "cpu_seconds": round(seconds)}
    document = {**about, "bounds": BOUNDS, "errors": errors}
    RESULTS.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
