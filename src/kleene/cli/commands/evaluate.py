"""`kleene evaluate`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from kleene.cli.console import answer, answer_json, answer_table, label_texts
from kleene.cli.options import (
    MAX_LENGTH,
    NO_LAYOUT,
    DataFile,
    Json,
    MaxLength,
    ModelFolder,
    reads_data,
)

if TYPE_CHECKING:
    from kleene.data.layout import Layout


@reads_data
def evaluate(
    model: ModelFolder,
    data: DataFile,
    layout: Layout = NO_LAYOUT,
    max_length: MaxLength = MAX_LENGTH,
    json: Json = False,
) -> None:
    """Compare predictions with labels: accuracy, F1, confusions.

    The calibration error is the mean gap between the probability of an answer and the share of such
    answers that is right.

    \b
    Example:
      kleene evaluate model test.tsv
      kleene evaluate model test.jsonl.gz --json
    """
    from kleene.cli.input import DataSource
    from kleene.cli.training_summary import answer_classes, evaluate_file, named
    from kleene.model import Model

    trained = Model.load(model)
    source = DataSource(path=data, layout=layout, max_length=max_length)
    result, unknown = evaluate_file(trained, source)
    rows = len(result.labels)
    per_class = named(trained, map(asdict, result.per_class))
    names = label_texts(trained.classes)
    if json:
        answer_json(
            {
                "rows": rows,
                "right": int(result.confusion.trace()),
                "accuracy": result.accuracy,
                "majority_accuracy": result.majority_accuracy,
                "per_class": per_class,
                "loss": result.loss,
                "calibration": result.reliability.to_dict(),
                "classes": list(trained.classes),
                "confusion": result.confusion.tolist(),
                "unknown_symbols": unknown.symbols,
            }
        )
        return
    right = int(result.confusion.trace())
    answer(f"accuracy           {result.accuracy:.2%}  ({right} of {rows} rows)")
    answer(f"majority class     {result.majority_accuracy:.2%}")
    answer(f"loss               {result.loss:.4f}")
    answer(f"calibration error  {result.reliability.error:.4f}")
    answer()
    answer_classes(per_class)
    answer()
    table = [[name, *row] for name, row in zip(names, result.confusion.tolist(), strict=True)]
    answer_table(["label / predicted", *names], table)
