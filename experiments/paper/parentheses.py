"""Balanced parentheses: the paper's two tables, drift, and the counter machine read off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paper.counter_reading import balanced, reading
from paper.experiment import Experiment, Request, Table, middle
from paper.ledger import Row
from paper.memory_runs import Recipe, make_task, train
from paper.sets import (
    PARENTHESES_TESTS,
    VALIDATION_DEPTH,
    PaperSet,
    Split,
    parentheses_set,
)

RECIPES = {
    "large": Recipe(),
    "small": Recipe(batch_size=32, epochs=100, patience=40, rmsprop_epochs=40, round_epochs=5),
}
HIDDEN = 50
STATES = 5
COLUMNS = tuple(PARENTHESES_TESTS)
PAPER: dict[str, tuple[float, ...] | None] = {
    "large LSTM": (0.005, 0.334, 0.341, 0.002, 0.207, 0.543),
    "large LSTM-P": None,
    "large SR-LSTM": (0.038, 0.255, 0.313, 0.044, 0.227, 0.540),
    "large SR-LSTM-P": (0.000, 0.001, 0.003, 0.000, 0.004, 0.020),
    "small LSTM": (0.068, 0.472, 0.479, 0.042, 0.409, 0.519),
    "small LSTM-P": None,
    "small SR-LSTM": (0.037, 0.347, 0.352, 0.028, 0.279, 0.508),
    "small SR-LSTM-P": (0.017, 0.189, 0.196, 0.015, 0.138, 0.380),
    "small SR-LSTM-P k=2": (0.019, 0.096, 0.097, 0.014, 0.038, 0.399),
    "small SR-LSTM-P k=10": (0.021, 0.205, 0.213, 0.012, 0.154, 0.432),
    "small SR-LSTM-P k=50": (0.034, 0.192, 0.191, 0.047, 0.128, 0.410),
}


def _key(row: str, seed: int, scale: str = "small") -> dict[str, Any]:
    size, model, *more = row.split()
    states = int(more[0].removeprefix("k=")) if more else STATES
    return {"size": size, "model": model, "states": states if "SR" in model else 0, "seed": seed}


def _work(row: str, seed: int, request: Request) -> dict[str, Any]:
    key = _key(row, seed)
    data = parentheses_set(key["size"], seed=seed)
    trained, result = train(
        make_task(data, longer(data, seed)),
        key["model"],
        states=key["states"],
        hidden=HIDDEN,
        seed=seed,
        recipe=RECIPES[key["size"]],
        reporter=request.reporter,
    )
    trained.save(request.models / "-".join(map(str, key.values())))
    if key["states"]:
        result["counter"] = {
            mode: reading(trained, data.train.words, balanced, hard=mode == "hard")
            for mode in ("soft", "hard")
        }
    return result


def longer(data: PaperSet, seed: int) -> Split:
    """Fresh words of the depths of validation, up to the greatest length of the tests."""
    words, labels = data.language.sample(500, range(1_001), seed=[seed, 99], depth=VALIDATION_DEPTH)
    return Split(words=words, labels=labels)


def _seeds(row: str, scale: str) -> int:
    if scale == "small":
        return 1
    return 5 if row.endswith("SR-LSTM-P") else 3


def error_rates(
    of: Mapping[str, list[Row]],
    paper: Mapping[str, tuple[float, ...] | None],
    columns: Sequence[str],
) -> Table:
    """Error rates by column, the paper's below ours."""
    lines = []
    for name, theirs in paper.items():
        for mode in ("soft", "hard"):
            found = [row["result"]["errors"] for row in of[name]]
            found = [errors[mode] for errors in found if mode in errors]
            if found:
                cells = [middle([errors[column] for errors in found], 3) for column in columns]
                lines.append([f"{name}, {mode}", str(len(found)), *cells])
        if theirs is not None:
            lines.append([f"{name}, the paper", "", *(f"{error:.3f}" for error in theirs)])
    return Table(("error rates", "seeds", *columns), lines)


def _table(rows: Sequence[Row]) -> Table:
    of = {
        name: [row for row in rows if row["key"] == _key(name, row["key"]["seed"])]
        for name in PAPER
    }
    return error_rates(of, PAPER, COLUMNS)


def _headline(result: dict[str, Any]) -> str:
    errors = " / ".join(f"{error:.3f}" for error in result["errors"]["soft"].values())
    if "counter" not in result:
        return f"errors {errors}"
    proved = " and ".join(mode for mode, read in result["counter"].items() if read["proved"])
    return f"errors {errors}; counter machine {f'proved ({proved})' if proved else 'not proved'}"


PARENTHESES = Experiment(
    ledger="parentheses",
    rows=tuple(sorted(PAPER, key=lambda row: not row.endswith("SR-LSTM-P"))),
    seeds=_seeds,
    key=_key,
    recipe=lambda row, scale: {"recipe": RECIPES[row.split()[0]], "hidden": HIDDEN},
    work=_work,
    headline=_headline,
    table=_table,
)
