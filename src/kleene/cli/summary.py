"""What `kleene train` and `kleene evaluate` answer: every accuracy with its name and its rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kleene.cli.console import answer, answer_table, say
from kleene.errors import ModelError
from kleene.machine import label_texts
from kleene.percent import percent
from kleene.select import ORIGINS

if TYPE_CHECKING:
    from kleene.cli.data import DataSource
    from kleene.data.validate import UnknownSymbols
    from kleene.evaluation.metrics import Evaluation
    from kleene.model import Model

MAX_CLASSES = 12
"""With more classes, only `kleene evaluate` shows the table."""
ACCURACIES = (
    *("training_accuracy", "validation_accuracy", "held_out_accuracy", "held_out_interval"),
    "baseline_accuracy",
)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The figures of a training run."""

    model: Model
    seconds: float

    @property
    def figures(self) -> dict[str, Any]:
        """What `fit` measured."""
        found = self.model.settings.get("data")
        if found is None:
            raise ModelError("the model is of an earlier version; train it with --overwrite")
        return dict(found)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            **{name: self.figures.get(name) for name in ACCURACIES},
            "origin": self.model.origin,
            "states": self.model.network.rnn.num_states,
            "seconds": round(self.seconds, 3),
        }

    def show(self) -> None:
        """Write the summary for a person."""
        figures, model = self.figures, self.model
        symbols, states = len(model.alphabet.symbols), model.network.rnn.num_states
        lines = [
            *self._worth(),
            (
                "data",
                f"{figures['rows']:,} rows, {len(model.classes)} classes, {symbols:,} symbols",
            ),
            *self._accuracies(),
            ("network", f"{model.network.config.cell}, {states or 'no'} state{'s'[states == 1 :]}"),
            ("learned by", ORIGINS.get(model.origin, model.origin)),
            *(("" if i else "log", step) for i, step in enumerate(model.settings["fit_log"])),
            ("time", f"{self.seconds:.1f} s\n"),
        ]
        answer("\n".join(f"{name:<12}{value}" for name, value in lines))
        if len(model.classes) <= MAX_CLASSES:
            kind = "held-out" if figures["held_out_rows"] else "training"
            answer_classes(model, figures["per_class"], f"class ({kind} rows)")
        held_out, baseline = figures["held_out_accuracy"], figures["baseline_accuracy"]
        if baseline is not None and baseline > held_out:
            better = f"{percent(baseline)}, the network {percent(held_out)}"
            say(f"n-grams with logistic regression are better on the held-out rows: {better}")

    def _worth(self) -> list[tuple[str, str]]:
        """The first line of a model that is worth nothing, as far as anybody knows."""
        from kleene.fitting import MIN_VALIDATION

        rows, label = self.figures["rows"], self.model.no_better_than
        if label is not None:
            return [("result", f"no better than always answering {label}")]
        if self.figures["held_out_interval"] or rows >= MIN_VALIDATION:
            return []
        few = f"{rows} rows are too few to say what this model is worth"
        return [("result", f"unknown: {few}; give {MIN_VALIDATION} or more")]

    def _accuracies(self) -> list[tuple[str, str]]:
        """A line for each accuracy."""
        figures, lines = self.figures, []
        if figures["held_out_interval"]:
            low, high = map(percent, figures["held_out_interval"])
            text = _share(figures["held_out_accuracy"], figures["held_out_rows"])
            folds, baseline = figures["held_out_folds"], figures["baseline_accuracy"]
            how = f" ({folds}-fold cross-validation)" if folds else ""
            compared = "" if baseline is None else f"n-grams {percent(baseline)}, "
            compared += f"majority class {percent(figures['majority_accuracy'])} of the same rows"
            lines.append(("held-out", f"{text}, 95 % interval {low} to {high}{how}"))
            lines.append(("", compared))
        else:
            lines.append(("held-out", "not measured"))
        if figures["validation_rows"]:
            text = _share(figures["validation_accuracy"], figures["validation_rows"])
            lines.append(("validation", f"{text}, which choices were made on"))
        training = _share(figures["training_accuracy"], figures["training_rows"])
        return [*lines, ("training", training)]


def evaluate_file(model: Model, source: DataSource) -> tuple[Evaluation, UnknownSymbols]:
    """The network's answers to the rows of a file, and the symbols it does not know."""
    import numpy as np

    from kleene.data.examples import Examples
    from kleene.data.validate import UnknownSymbols
    from kleene.evaluation.metrics import evaluate, merged

    parts, unknown = [], UnknownSymbols()
    for chunk in source.chunks(model, labelled=True, stage="evaluating"):
        words = [example.word for example in chunk]
        labels = np.array([model.class_ids[example.label] for example in chunk])
        encoded = model.alphabet.encode_many(words)
        unknown += UnknownSymbols.among(model.alphabet, words, encoded)
        parts.append(evaluate(model.network, Examples(words=encoded, labels=labels)))
    if unknown:
        say(str(unknown))
    return merged(parts), unknown


def answer_classes(model: Model, per_class: Iterable[dict[str, Any]], title: str) -> None:
    """Write precision, recall and F1 of each class."""
    rows = []
    for label, one in zip(label_texts(model.classes), per_class, strict=True):
        figures = [f"{one[name]:.3f}" for name in ("precision", "recall", "f1")]
        rows.append([label, *figures, one["rows"]])
    answer_table([title, "precision", "recall", "F1", "rows"], rows)


def _share(accuracy: float, rows: int) -> str:
    return f"{percent(accuracy)} of {rows:,} rows"
