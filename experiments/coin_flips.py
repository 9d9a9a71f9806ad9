"""Labels drawn by coin: does the accuracy that `kleene train` reports hold on fresh rows?

Each file has 300 random words over four symbols with labels drawn by coin, and 2,000 fresh rows of
the same kind. `fit` chooses what it likes; the reported accuracy should be near one half, and its
interval should hold the accuracy on the fresh rows.

Run: python experiments/coin_flips.py [--files 50]
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
import torch
from ledger import Ledger

import kleene as kl

ROWS, FRESH = 300, 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=50)
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("coin_flips")
    rows = [
        ledger.run(partial(flip, seed), recipe={"rows": ROWS, "fresh": FRESH}, seed=seed)
        for seed in range(options.files)
    ]
    results = [row["result"] for row in rows]
    mean = np.mean([one["held_out"] for one in results])
    covered = sum(one["interval"][0] <= one["fresh"] <= one["interval"][1] for one in results)
    print(f"mean reported accuracy {mean:.3f}; the interval holds {covered} of {len(results)}")


def flip(seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)

    def draw(count: int) -> tuple[list[str], list[int]]:
        lengths = random.integers(5, 21, count)
        words = ["".join(random.choice(list("abcd"), n)) for n in lengths]
        return words, random.integers(0, 2, count).tolist()

    words, labels = draw(ROWS)
    fitted = kl.SequenceClassifier(random_state=seed).fit(words, labels, baseline=True)
    figures = fitted.figures_
    return {
        "held_out": figures.held_out_accuracy,
        "interval": list(figures.held_out_interval),
        "validation": figures.validation_accuracy,
        "fresh": fitted.score(*draw(FRESH)),
        "ngrams": figures.baseline_accuracy,
        "origin": fitted.origin_,
    }


if __name__ == "__main__":
    main()
