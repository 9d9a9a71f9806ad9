"""What `kleene train` answers: every accuracy by its name, with the rows it was measured on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.console import answer, answer_table, label_text, say
from kleene.errors import ModelError
from kleene.select import ORIGINS

if TYPE_CHECKING:
    from kleene.cli.input import DataSource
    from kleene.data.validate import UnknownSymbols
    from kleene.evaluation.metrics import Evaluation
    from kleene.model import Model

MAX_CLASSES = 12
"""With more classes, only `kleene evaluate` shows the table."""
METRICS = ("precision", "recall", "f1")
FIGURES = (
    *("training_rows", "training_accuracy", "validation_rows", "validation_accuracy"),
    *("held_out_rows", "held_out_accuracy", "held_out_interval", "held_out_folds"),
    *("baseline_accuracy", "majority_accuracy"),
)


def summarize(
    model: Model, folder: Path, seconds: float, test: DataSource | None
) -> dict[str, Any]:
    """The figures of a run as plain values, for JSON."""
    data = model.settings.get("data")
    if data is None:
        raise ModelError(f"{folder} was trained by an earlier version; train with --overwrite")
    constant = model.no_better_than
    found = {
        "model": str(folder),
        "rows": data["rows"],
        "classes": len(model.classes),
        "symbols": len(model.alphabet.symbols),
        **{name: data.get(name) for name in FIGURES},
        "per_class": named(model, data["per_class"]),
        "no_better_than": None if constant is None else label_text(constant),
        "cell": model.network.config.cell,
        "states": model.network.rnn.num_states,
        "origin": model.origin,
        "readable_by": model.readable_by,
        "steps": model.settings["fit_log"],
        "seconds": round(seconds, 3),
    }
    if test is not None:
        tested, _ = evaluate_file(model, test)
        found |= {"test_accuracy": tested.accuracy, "test_rows": len(tested.labels)}
    return found


def named(model: Model, per_class: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures of each class with its label."""
    pairs = zip(model.classes, per_class, strict=True)
    return [{"label": label_text(label), **figures} for label, figures in pairs]


def evaluate_file(model: Model, source: DataSource) -> tuple[Evaluation, UnknownSymbols]:
    """The network's answers to the rows of a file, and the symbols it does not know."""
    from kleene.data.validate import UnknownSymbols
    from kleene.evaluation.metrics import evaluate, merged

    parts, unknown = [], UnknownSymbols()
    for examples, strange in source.encoded(model):
        parts.append(evaluate(model.network, examples))
        unknown += strange
    if unknown:
        say(str(unknown))
    return merged(parts), unknown


def answer_summary(summary: dict[str, Any]) -> None:
    """Write the summary for a person."""
    rows = f"{summary['rows']:,} rows, {summary['classes']} classes, {summary['symbols']:,} symbols"
    lines = [("model", summary["model"]), ("data", rows), *_accuracies(summary)]
    count = summary["states"]
    lines += [
        ("network", f"{summary['cell']}, {f'{count} states' if count else 'no states'}"),
        ("learned by", ORIGINS.get(summary["origin"], summary["origin"])),
        *(("log" if i == 0 else "", step) for i, step in enumerate(summary["steps"])),
        ("time", f"{summary['seconds']:.1f} s"),
    ]
    answer("\n".join(f"{name:<12}{value}" for name, value in lines))
    if 1 < summary["classes"] <= MAX_CLASSES:
        answer()
        answer_classes(summary["per_class"], "held-out" if summary["held_out_rows"] else "training")
    held_out, baseline = summary["held_out_accuracy"], summary["baseline_accuracy"]
    if baseline is not None and baseline > held_out:
        say(
            f"n-grams with logistic regression are better on the held-out rows: {baseline:.2%}, "
            f"the network {held_out:.2%}"
        )


def answer_classes(per_class: list[dict[str, Any]], kind: str = "") -> None:
    """Write precision, recall and F1 of each class."""
    answer_table(
        [f"class ({kind} rows)" if kind else "class", "precision", "recall", "F1", "rows"],
        [
            [one["label"], *(f"{one[name]:.3f}" for name in METRICS), one["rows"]]
            for one in per_class
        ],
    )


def _accuracies(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """A line for each accuracy; one that may be chance says so first."""
    lines = []
    if "test_accuracy" in summary:
        lines.append(("test", _share(summary["test_accuracy"], summary["test_rows"])))
    if summary["held_out_interval"]:
        low, high = summary["held_out_interval"]
        majority = summary["majority_accuracy"]
        if (label := summary["no_better_than"]) is not None:
            lines.insert(0, ("result", f"no better than always answering {label}"))
        text = _share(summary["held_out_accuracy"], summary["held_out_rows"])
        text += f", 95 % interval {low:.1%} to {high:.1%}"
        if folds := summary["held_out_folds"]:
            text += f" ({folds}-fold cross-validation)"
        lines.append(("held-out", text))
        baseline = summary["baseline_accuracy"]
        compared = "" if baseline is None else f"n-grams {baseline:.2%}, "
        lines.append(("", f"{compared}majority class {majority:.2%} of the same rows"))
    else:
        lines.append(("held-out", "no rows (fewer than 50 given, or --no-baseline)"))
    if summary["validation_rows"]:
        text = _share(summary["validation_accuracy"], summary["validation_rows"])
        lines.append(("validation", f"{text}, which choices were made on"))
    return [*lines, ("training", _share(summary["training_accuracy"], summary["training_rows"]))]


def _share(accuracy: float, rows: int) -> str:
    return f"{accuracy:.2%} of {rows:,} rows"
