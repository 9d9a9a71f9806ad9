"""Tables of text and images: errors, what states mean, and how good explanations are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from page import load, markdown
from paper import find
from paper.experiment import chosen, middle


def compared(name: str) -> str:
    """Paper and ours side by side, as `experiments/reproduce.py` shows them."""
    experiment = find(name)
    return markdown(*experiment.table(load(experiment.ledger)))


POOLED = "MNIST, 14 x 14 pixels, 196 steps"  # which the paper has not
REAL = (  # what it is, the ledger, our network's row, the plain one's
    ("IMDB reviews", "imdb", "SR-LSTM-P", "LSTM"),
    ("20 Newsgroups", "newsgroups", "SR-LSTM-P", "LSTM"),
    ("20 Newsgroups, bodies only", "newsgroups", "SR-LSTM-P cleaned", "LSTM cleaned"),
    (POOLED, "mnist", "SR-LSTM-P", "LSTM"),
    ("MNIST, 28 x 28 pixels, 784 steps", "mnist", "SR-LSTM-P 784 steps", None),
)


def real_data() -> str:
    """Test errors of the network with states, of the plain one, and of the paper's."""
    lines = []
    for name, ledger, ours, plain in REAL:
        rows = load(ledger)
        found = {
            row: [r["result"]["test_error"] for r in chosen(rows, row=row)] for row in (ours, plain)
        }
        paper = next(line[2] for line in find(ledger).table(rows).rows if line[0] == ours)
        paper = "" if name == POOLED else paper
        lines.append([name, *(middle(errors, 1) for errors in found.values()), paper])
    return markdown(["test error, %", "SR-LSTM-P", "plain LSTM", "the paper's SR-LSTM-P"], lines)


def mnist_curve() -> str:
    """Validation error by epoch of the run over all 784 pixels."""
    rows = [r for r in load("mnist") if "784" in r["key"]["row"]]
    if not rows:
        return "_No results yet: `experiments/reproduce.py mnist`._"
    result = rows[0]["result"]
    epochs = ["epoch", *(str(i + 1) for i in range(len(result["curve"])))]
    errors = ["error on held-out digits, %", *(f"{error:.1f}" for error in result["curve"])]
    first = sum(stage["epochs"] for stage in rows[0]["recipe"]["coarse"])
    minutes = result["epochs"] * result["epoch_seconds"] / 60
    written = (
        f"The first {first} epochs read images of half as many rows; all {result['epochs']} take "
        f"{minutes:.0f} CPU minutes."
    )
    return f"{markdown(epochs, [errors])}\n\n{written}"


def explanation_quality() -> str:
    result = _part("explanations", "quality")
    if result is None:
        return "_No results yet: `python experiments/explanations.py`._"
    lines = []
    for name, found in result["methods"].items():
        better = [side for side, won in found["beats_chance"].items() if won]
        lines.append(
            [
                name,
                f"{found['deletion_area']:.3f}",
                f"{found['insertion_area']:.3f}",
                "" if name == "random" else " and ".join(better) or "no",
                f"{found['milliseconds']:.1f}",
            ]
        )
    header = ["method", "deletion (low is good)", "insertion (high)", "better than chance", "ms"]
    return markdown(header, lines)


def explanation_cost() -> str:
    result = _part("explanations", "cost")
    if result is None:
        return "_No results yet: `python experiments/explanations.py`._"
    lines = [
        [name, f"{seconds:.2f} s", f"{result['ratio'].get(name, 1):.2f}"]
        for name, seconds in result["seconds"].items()
    ]
    header = [f"{result['reviews']:,} reviews", "CPU time", "over predicting"]
    return markdown(header, lines)


def explanation_features() -> str:
    result = _part("explanations", "reduction")
    if result is None:
        return "_No results yet: `python experiments/explanations.py`._"
    lines = [[name, f"{100 * accuracy:.1f} %"] for name, accuracy in result.items()]
    return markdown(["classifier", "accuracy on the test reviews"], lines)


def _part(name: str, part: str) -> dict[str, Any] | None:
    rows = [r for r in load(name) if r["key"]["part"] == part]
    return rows[-1]["result"] if rows else None


MEANING: dict[str, Callable[[], str]] = {
    "real-data": real_data,
    **{f"paper-{name}": partial(compared, name) for name in ("imdb", "newsgroups", "mnist")},
    "mnist-curve": mnist_curve,
    "explanation-quality": explanation_quality,
    "explanation-cost": explanation_cost,
    "explanation-features": explanation_features,
}
