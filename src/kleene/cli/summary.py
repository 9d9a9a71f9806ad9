"""What `kleene train` answers: every accuracy with its name and its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kleene.cli.console import answer, answer_table, say
from kleene.errors import ModelError
from kleene.evaluation.percent import percent
from kleene.machine import label_texts
from kleene.select import ORIGINS

if TYPE_CHECKING:
    from kleene.model import Model

MAX_CLASSES = 12
"""With more classes, only `kleene evaluate` shows the table."""
ACCURACIES = (
    *("training_accuracy", "validation_accuracy", "held_out_accuracy", "held_out_interval"),
    "baseline_accuracy",
)


def figures_of(model: Model) -> dict[str, Any]:
    """What `fit` measured."""
    if "data" not in model.settings:
        raise ModelError("the model is of an earlier version; train it with --overwrite")
    return dict(model.settings["data"])


def summary(model: Model, seconds: float) -> dict[str, Any]:
    """The figures of a training run as plain values, for JSON."""
    figures = figures_of(model)
    return {
        **{name: figures.get(name) for name in ACCURACIES},
        "origin": model.origin,
        "states": model.network.rnn.num_states,
        "seconds": round(seconds, 3),
    }


def answer_summary(model: Model, seconds: float) -> None:
    """Write the figures of a training run for a person."""
    from kleene.report.figures import worth

    figures, doubt = figures_of(model), worth(model)
    symbols, states = len(model.alphabet.symbols), model.network.rnn.num_states
    data = f"{figures['rows']:,} rows, {len(model.classes)} classes, {symbols:,} symbols"
    lines = [
        *([] if doubt is None else [("result", doubt)]),
        ("data", data),
        *_accuracies(figures),
        ("network", f"{model.network.config.cell}, {states or 'no'} state{'s'[states == 1 :]}"),
        ("learned by", ORIGINS.get(model.origin, model.origin)),
        *(("" if i else "log", step) for i, step in enumerate(model.settings["fit_log"])),
        ("time", f"{seconds:.1f} s\n"),
    ]
    answer("\n".join(f"{name:<12}{value}" for name, value in lines))
    if len(model.classes) <= MAX_CLASSES:
        kind = "held-out" if figures["held_out_rows"] else "training"
        answer_classes(model, figures["per_class"], f"class ({kind} rows)")
    held_out, baseline = figures["held_out_accuracy"], figures["baseline_accuracy"]
    if baseline is not None and baseline > held_out:
        better = f"{percent(baseline)}, the network {percent(held_out)}"
        say(f"n-grams with logistic regression are better on the held-out rows: {better}")


def _accuracies(figures: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """A line for each accuracy."""

    def share(kind: str) -> str:
        return f"{percent(figures[f'{kind}_accuracy'])} of {figures[f'{kind}_rows']:,} rows"

    if figures["held_out_interval"]:
        low, high = map(percent, figures["held_out_interval"])
        folds, baseline = figures["held_out_folds"], figures["baseline_accuracy"]
        how = f" ({folds}-fold cross-validation)" if folds else ""
        compared = "" if baseline is None else f"n-grams {percent(baseline)}, "
        majority = percent(figures["majority_accuracy"])
        yield "held-out", f"{share('held_out')}, 95 % interval {low} to {high}{how}"
        yield "", f"{compared}majority class {majority} of the same rows"
    else:
        yield "held-out", "not measured"
    if figures["validation_rows"]:
        yield "validation", f"{share('validation')}, which choices were made on"
    yield "training", share("training")


def answer_classes(model: Model, per_class: Iterable[dict[str, Any]], title: str) -> None:
    """Write precision, recall and F1 of each class."""
    rows = []
    for label, one in zip(label_texts(model.classes), per_class, strict=True):
        figures = [f"{one[name]:.3f}" for name in ("precision", "recall", "f1")]
        rows.append([label, *figures, one["rows"]])
    answer_table([title, "precision", "recall", "F1", "rows"], rows)
