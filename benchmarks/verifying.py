"""CPU seconds of `certify`, `verify` and `verify --exact`: python benchmarks/verifying.py [--large]

The demo's model (trained first, Tomita 4), a counter proof of depth 20 and length 1,000, and, with
--large, a network of 40 states over 10,000 symbols, whose exact check takes some five minutes. The
ratio is of the exact verifier against the plain one; results/verifying.json has the last run.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT / "experiments")]

import torch  # noqa: E402
from counting_network import counting_model  # noqa: E402
from paper.counter_reading import balanced  # noqa: E402
from random_models import built_model, permutations  # noqa: E402

from kleene import SequenceClassifier, languages  # noqa: E402
from kleene.files import write_atomically  # noqa: E402
from kleene.model import Model  # noqa: E402
from kleene.proof.certify import certify  # noqa: E402
from kleene.proof.counter import counter_bound  # noqa: E402
from kleene.proof.verify import verify  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "verifying.json"


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    found = function()
    return found, round(time.process_time() - started, 3)


def row(name: str, model: Model, prove: Callable[[], Any]) -> dict[str, Any]:
    certificate, seconds = timed(prove)
    document = certificate.to_dict()
    files, machine = model.to_files(), document.get("dfa", document.get("machine"))
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


def main() -> None:
    torch.set_num_threads(1)
    words, labels = languages.tomita(4).sample(2000, seed=0)
    demo = SequenceClassifier(random_state=0).fit(words, list(map(int, labels))).model
    counting, machine = counting_model("a"), balanced(True, letters="a")
    rows = [
        row("demo (Tomita 4)", demo, lambda: certify(demo)),
        row(
            "counter, depth 20, length 1,000",
            counting,
            lambda: counter_bound(counting, machine, depth=20, length=1000).certificate,
        ),
    ]
    if "--large" in sys.argv:
        dfa = permutations(40, tuple(f"word{i}" for i in range(10_000)), seed=0, groups=3)
        large = built_model(dfa, groups=3, temperature=0.1)
        with torch.no_grad():
            noise = torch.randn(10_000, 4, generator=torch.Generator().manual_seed(0))
            large.network.embedding.weight[4:] += 0.01 * noise
        rows.append(row("40 states, 10,000 symbols", large, lambda: certify(large, dfa)))
    elif RESULTS.exists():
        rows += [r for r in json.loads(RESULTS.read_text())["rows"] if "40 states" in r["proof"]]
    document = {"machine": platform.processor() or platform.machine(), "rows": rows}
    write_atomically(RESULTS, json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
