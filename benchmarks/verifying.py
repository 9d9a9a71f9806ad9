"""CPU seconds of `certify`, `verify` and `verify --exact`, and of exact arithmetics.

python benchmarks/verifying.py      # some six minutes; results/verifying.json has the last run

Proofs: the demo model (trained first, Tomita 4), a counter proof of depth 20 and length 1,000, and
a network of 40 states over 10,000 symbols. Arithmetics: one step of a GRU, the product of 64 inputs
of 40 numbers with 120 rows and a sigmoid of each result, in float64 and in four ways that bound or
avoid its rounding.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT / "experiments")]

import mpmath  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from counting_network import counting_model  # noqa: E402
from paper.counter_reading import balanced  # noqa: E402
from random_models import built_model, permutations  # noqa: E402

from kleene import SequenceClassifier, languages  # noqa: E402
from kleene.files import write_atomically  # noqa: E402
from kleene.model import Model  # noqa: E402
from kleene.proof.certify import certify  # noqa: E402
from kleene.proof.counter import counter_bound  # noqa: E402
from kleene.proof.outward import Enclosure  # noqa: E402
from kleene.proof.verify import verify  # noqa: E402
from kleene.proof.verify_core import sigmoid  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "verifying.json"
BOXES, INPUTS, GATES = 64, 40, 120


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    found = function()
    return found, round(time.process_time() - started, 4)


def proof(name: str, model: Model, prove: Callable[[], Any]) -> dict[str, Any]:
    certificate, seconds = timed(prove)
    document = certificate.to_dict()
    files, machine = model.to_files(), document.get("dfa") or document["machine"]
    plain, plain_seconds = timed(lambda: verify(files, machine, document))
    exact, exact_seconds = timed(lambda: verify(files, machine, document, exact=True))
    found = {
        "proof": name,
        "holds": plain.holds and exact.holds,
        "certify": seconds,
        "verify": plain_seconds,
        "verify_exact": exact_seconds,
        "ratio": round(exact_seconds / plain_seconds, 1),
    }
    print(found, flush=True)
    return found


def proofs() -> list[dict[str, Any]]:
    words, labels = languages.tomita(4).sample(2000, seed=0)
    demo = SequenceClassifier(random_state=0).fit(words, list(map(int, labels))).model
    counting, machine = counting_model("a"), balanced(True, letters="a")
    dfa = permutations(40, tuple(f"word{i}" for i in range(10_000)), seed=0, groups=3)
    large = built_model(dfa, groups=3, temperature=0.1)
    with torch.no_grad():
        noise = torch.randn(10_000, 4, generator=torch.Generator().manual_seed(0))
        large.network.embedding.weight[4:] += 0.01 * noise

    def count() -> Any:
        return counter_bound(counting, machine, depth=20, length=1000).certificate

    return [
        proof("demo (Tomita 4)", demo, lambda: certify(demo)),
        proof("counter, depth 20, length 1,000", counting, count),
        proof("40 states, 10,000 symbols", large, lambda: certify(large, dfa)),
    ]


# -- arithmetics -----------------------------------------------------------------------------------


def arithmetics() -> list[dict[str, Any]]:
    """Seconds for the product and for the sigmoids, and the widest result."""
    random = np.random.default_rng(0)
    x, W = random.normal(0, 1, (BOXES, INPUTS)), random.normal(0, 0.3, (GATES, INPUTS))
    ways = {
        "float64 (NumPy)": (lambda: x @ W.T, sigmoid),
        "outward-rounded float64 (NumPy)": (lambda: Enclosure(x) @ Enclosure(W.T), sigmoid),
        "mpmath.iv, 53 bits": (lambda: by_numbers(mpmath.iv.mpf, x, W), by_mpmath),
        "fractions, series of 20 terms": (lambda: by_numbers(Fraction, x, W), by_fractions),
    }
    try:
        import flint
    except ImportError:  # pip install -e '.[smt]'
        print("python-flint is not installed: Arb is left out")
    else:

        def product() -> Any:
            return flint.arb_mat(x.tolist()) * flint.arb_mat(W.T.tolist())

        def gates(a: Any) -> list[Any]:
            return [1 / (1 + (-v).exp()) for v in a.entries()]

        ways["Arb (python-flint), 53 bits"] = product, gates
    rows = []
    for name, (multiply, gate) in ways.items():
        a, product_seconds = min((timed(multiply) for _ in range(3)), key=lambda one: one[1])
        _, gate_seconds = min((timed(lambda: gate(a)) for _ in range(3)), key=lambda one: one[1])  # noqa: B023
        rows.append({"arithmetic": name, "product": product_seconds, "sigmoid": gate_seconds})
        print(rows[-1], flush=True)
    return rows


def by_numbers(number: Callable[[float], Any], x: Any, W: Any) -> list[Any]:
    """The product, number by number."""
    a, b = ([[number(v) for v in row] for row in matrix.tolist()] for matrix in (x, W))
    return [
        sum((p * q for p, q in zip(row, column, strict=True)), number(0))
        for row in a
        for column in b
    ]


def by_mpmath(values: list[Any]) -> list[Any]:
    return [1 / (1 + mpmath.iv.exp(-v)) for v in values]


def by_fractions(values: list[Any]) -> list[Any]:
    found = []
    for value in values:
        reduced, total = -value / 64, Fraction(1)  # |value| / 64 is small
        for n in range(20, 0, -1):
            total = 1 + total * reduced / n
            total = Fraction(round(total * 2**120), 2**120)  # else the numbers grow without end
        found.append(1 / (1 + total**64))
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    document = {
        "machine": platform.processor() or platform.machine(),
        "finished": time.strftime("%Y-%m-%d %H:%M:%S"),
        "seed": 0,
        "arithmetics": arithmetics(),
        "rows": proofs(),
    }
    write_atomically(RESULTS, json.dumps(document, indent=1) + "\n")
