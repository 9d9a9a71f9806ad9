"""Word problems of groups, and random DFAs with wrong symbols or labels: learned, read, proved?

    groups   the product of the elements of a word (Z2 to Z7, S3, A5), or only whether it is the
             identity; 10,000 words up to length 40
    random   random DFAs of 10, 20 and 30 states over two symbols, 10,000 words; a share of the
             symbols or of the labels is wrong in training. New words are clean.

Everything is a `fit` with its defaults.

Run: python experiments/groups_and_random_dfas.py groups [--seeds 2] [--only A5]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from induction import flipped, labelled, random_dfa
from ledger import Ledger
from state_tracking import Task, fit_and_read, group

from kleene.induction.learner import compile_kernels
from kleene.machine import Word
from kleene.nn.fused import load_kernels

ROWS, NEW_ROWS, LONGEST, LONGER = 10_000, 1_000, 40, 256
NOISES = (
    ("none", 0.0),
    *(("labels", share) for share in (0.01, 0.05, 0.1)),
    *(("symbols", share) for share in (0.01, 0.05, 0.1)),
)
RECIPE = {"fit": "defaults, taught by tables", "rows": ROWS}
Run = tuple[dict[str, Any], Callable[[], dict[str, Any]]]
GROUPS: dict[str, Callable[[], Task]] = {
    **{f"Z{order}": lambda order=order: group(f"Z{order}") for order in (2, 3, 5, 7)},
    "S3": lambda: group("S3"),
    "A5, two generators": lambda: group("A5", generators=True),
    "A5, all elements": lambda: group("A5"),
    "S3, is it the identity": lambda: group("S3", word_problem=True),
    "A5, two generators, is it the identity": lambda: group(
        "A5", generators=True, word_problem=True
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("groups", "random"))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", default="", help="only runs whose key holds this text")
    options = parser.parse_args()
    torch.set_num_threads(1)
    compile_kernels()
    load_kernels()
    ledger = Ledger("groups_and_random_dfas")
    for seed in range(options.seeds):
        for key, work in groups(seed) if options.part == "groups" else random(seed):
            if options.only in str(key):
                row = ledger.run(work, recipe=RECIPE, part=options.part, **key, seed=seed)
                print(row["key"], row["result"], row["cpu_seconds"], flush=True)


def groups(seed: int) -> Iterator[Run]:
    """One fit for each group."""
    for name, make in GROUPS.items():

        def work(make: Callable[[], Task] = make) -> dict[str, Any]:
            task = make()
            rows = task.sample(ROWS, range(LONGEST + 1), [seed, 0])
            longer = task.sample(NEW_ROWS, range(LONGEST, LONGER + 1), [seed, 1])
            return fit_and_read(task, rows, {f"{LONGEST} to {LONGER}": longer}, seed=seed)

        yield {"group": name}, work


def random(seed: int) -> Iterator[Run]:
    """One fit for each size and kind of noise."""
    for states in (10, 20, 30):
        truth = random_dfa(states, 2, seed)
        for kind, share in NOISES:

            def work(truth: Any = truth, kind: str = kind, share: float = share) -> dict[str, Any]:
                words, labels = labelled(truth, ROWS, seed)
                if kind == "labels":
                    labels = flipped(labels, share, seed)
                if kind == "symbols":
                    words = replaced(words, share, len(truth.alphabet), seed)
                new = labelled(truth, NEW_ROWS, seed + 10_000)
                return fit_and_read(Task(truth=truth), (words, labels), {"new": new}, seed=seed)

            yield {"states": states, "noise": kind, "share": share}, work


def replaced(words: list[Word], share: float, width: int, seed: int) -> list[Word]:
    """The words, a share of their symbols replaced by another one."""
    generator = np.random.default_rng([seed, 78])
    return [
        tuple(
            int(symbol + generator.integers(1, width)) % width
            if generator.random() < share
            else symbol
            for symbol in word
        )
        for word in words
    ]


if __name__ == "__main__":
    main()
