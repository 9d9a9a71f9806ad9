"""Learn from words up to length 40, test up to length 256 and at 10,000; read and prove.

The tasks of the papers on state tracking (DeltaProduct, PD-SSM), each learned with `fit` and its
defaults. Words are uniform in length, then uniform among the words of that length; for repeat-01
and Dyck-2, where nearly no random word is a member, half are members and a part of the others are
edited members.

Run: python experiments/length_generalisation.py [--seeds 3] [--only parity]
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from ledger import Ledger
from state_tracking import (
    cycle_navigation,
    dyck2,
    even_pairs,
    first,
    fit_and_read,
    modular_arithmetic,
    parity,
    repeat_01,
)

from kleene.induction.learner import compile_kernels
from kleene.nn.fused import load_kernels

TASKS = {
    "even pairs": even_pairs,
    "parity": parity,
    "cycle navigation": cycle_navigation,
    "modular arithmetic": modular_arithmetic,
    "repeat 01": repeat_01,
    "Dyck-2, depth 3": dyck2,
    "first": first,
}
RECIPE = {
    "fit": "defaults, taught by tables",
    "rows": 10_000,
    "lengths": [0, 40],
    "tests": {"40 to 256": [1_000, 40, 256], "10,000": [20, 9_999, 10_000]},
}

ROWS = {"Dyck-2, depth 3": 20_000}
"""Fewer words of Dyck-2 do not show for every stack of three that no fourth may follow."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="only tasks whose name holds this text")
    options = parser.parse_args()
    torch.set_num_threads(1)
    compile_kernels()
    load_kernels()
    ledger = Ledger("length_generalisation")
    for seed in range(options.seeds):
        for name in TASKS:
            if options.only in name:
                recipe = {**RECIPE, "rows": ROWS.get(name, RECIPE["rows"])}
                row = ledger.run(
                    lambda n=name, s=seed: run(n, s), recipe=recipe, task=name, seed=seed
                )
                print(row["key"], row["result"], row["cpu_seconds"], flush=True)


def run(name: str, seed: int) -> dict[str, Any]:
    """One fit, its tests and its reading."""
    task = TASKS[name]()
    shortest, longest = RECIPE["lengths"]
    rows = task.sample(ROWS.get(name, RECIPE["rows"]), range(shortest, longest + 1), [seed, 0])
    tests = {
        kind: task.sample(number, range(least, most + 1), [seed, i])
        for i, (kind, (number, least, most)) in enumerate(RECIPE["tests"].items(), start=1)
    }
    return fit_and_read(task, rows, tests, seed=seed)


if __name__ == "__main__":
    main()
