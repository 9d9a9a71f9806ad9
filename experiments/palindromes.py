"""Palindromes: the paper's table, and what the memory holds.

Run: python experiments/palindromes.py [--seeds 3] [--models SR-LSTM-P,LSTM]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ledger import Ledger
from memory_runs import MODELS, Recipe, make_task, train

from kleene.data.alphabet import SPECIALS
from kleene.data.examples import Examples
from kleene.data.paper_sets import palindrome_set
from kleene.evaluate import evaluate
from kleene.model import Model
from kleene.train.stage import Curriculum

RECIPE = Recipe(epochs=60, patience=12, curriculum=Curriculum(start=4, step=2), rounds=0)
HIDDEN = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--models", default=",".join(reversed(MODELS)))
    parser.add_argument("--keep", type=Path, help="a folder for the trained models")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("palindromes")
    for seed in range(options.seeds):
        for model in options.models.split(","):
            row = ledger.run(
                lambda m=model, s=seed: run(m, s, options.keep), model=model, seed=seed
            )
            print(row["key"], row["result"], flush=True)


def run(model: str, seed: int, keep: Path | None = None) -> dict[str, Any]:
    data = palindrome_set("large", seed=seed)
    trained, result = train(
        make_task(data, data.validation), model, states=5, hidden=HIDDEN, seed=seed, recipe=RECIPE
    )
    if keep is not None:
        trained.save(keep / f"palindromes-{model}-{seed}")
    result["remembered"] = remembered(trained, seed)
    return result


def remembered(model: Model, seed: int, length: int = 40, words: int = 200) -> list[float]:
    """How often a single wrong symbol is noticed, by its distance from the middle of the word.

    That is what the memory holds: pairs near the middle need few symbols kept in order, pairs near
    the ends need all of them.
    """
    random = np.random.default_rng([seed, 7])
    half = random.integers(len(model.alphabet.symbols), size=(words, length // 2))
    shares = []
    for distance in range(length // 2):
        changed = np.concatenate([half, half[:, ::-1]], axis=1)
        changed[:, length // 2 + distance] += random.integers(1, len(model.alphabet.symbols), words)
        ids = changed % len(model.alphabet.symbols) + len(SPECIALS)
        examples = Examples(words=list(ids), labels=np.zeros(words, dtype=np.int64))
        shares.append(round(evaluate(model.network, examples).accuracy, 3))
    return shares


if __name__ == "__main__":
    main()
