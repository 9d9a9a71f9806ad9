"""Palindromes: the paper's table, and what the memory holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.model import Model
from kleene.training.stages import Curriculum
from paper.experiment import Experiment, Request, Table, chosen
from paper.ledger import Row
from paper.memory_runs import Recipe, make_task, train
from paper.parentheses import error_rates
from paper.sets import PALINDROME_TESTS, palindrome_set

RECIPE = Recipe(
    epochs=60, patience=12, curriculum=Curriculum(start=4, step=2), rounds=0, attempts=1
)
HIDDEN = 100
STATES = 5
COLUMNS = tuple(f"l <= {longest}" for longest in PALINDROME_TESTS)
PAPER: dict[str, tuple[float, ...] | None] = {
    "LSTM": (0.312, 0.420, 0.477),
    "LSTM-P": (0.284, 0.362, 0.415),
    "SR-LSTM": (0.280, 0.360, 0.446),
    "SR-LSTM k=100": None,
    "SR-LSTM-P": (0.105, 0.167, 0.298),
}
"""The paper's errors; `k=100` asks whether few centroids are what keeps SR-LSTM from learning."""


def _states(row: str) -> int:
    return int(row.split("k=")[1]) if "k=" in row else STATES


def _work(row: str, seed: int, request: Request) -> dict[str, Any]:
    data = palindrome_set("large", seed=seed)
    trained, result = train(
        make_task(data, data.validation),
        row.split()[0],
        states=_states(row),
        hidden=HIDDEN,
        seed=seed,
        recipe=RECIPE,
        reporter=request.reporter,
    )
    trained.save(request.models / f"palindromes-{row}-{seed}".replace(" ", "-"))
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
        ids = Alphabet.ids(changed % len(model.alphabet.symbols))
        examples = Examples(words=list(ids), labels=np.zeros(words, dtype=np.int64))
        shares.append(round(evaluate(model.network, examples).accuracy, 3))
    return shares


def _table(rows: Sequence[Row]) -> Table:
    return error_rates({name: chosen(rows, model=name) for name in PAPER}, PAPER, COLUMNS)


def _headline(result: dict[str, Any]) -> str:
    errors = " / ".join(f"{error:.3f}" for error in result["errors"]["soft"].values())
    return f"errors {errors}"


PALINDROMES = Experiment(
    ledger="palindromes",
    rows=tuple(reversed(PAPER)),
    seeds=lambda row, scale: 1 if scale == "small" else 3,
    key=lambda row, seed, scale: {"model": row, "seed": seed},
    recipe=lambda row, scale: {"recipe": RECIPE, "hidden": HIDDEN, "states": _states(row)},
    work=_work,
    headline=_headline,
    table=_table,
)
