"""`kleene evaluate`."""

from __future__ import annotations

from kleene.cli.console import answer, answer_json, answer_table, label_text, say
from kleene.cli.options import (
    MAX_LENGTH,
    DataFile,
    Json,
    LabelColumn,
    MaxLength,
    ModelFolder,
    TextColumn,
)


def evaluate(
    model: ModelFolder,
    data: DataFile,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    max_length: MaxLength = MAX_LENGTH,
    json: Json = False,
) -> None:
    """Compare predictions with labels: accuracy, confusion table.

    The calibration error is the mean gap between the probability of an answer and the share of such
    answers that is right.

    \b
    Example:
      kleene evaluate model test.tsv
      kleene evaluate model test.jsonl.gz --json
    """
    from kleene.cli.input import DataSource
    from kleene.data.validate import UnknownSymbols
    from kleene.evaluation.metrics import evaluate as evaluated
    from kleene.evaluation.metrics import merged
    from kleene.model import Model

    trained = Model.load(model)
    source = DataSource(
        path=data, text_column=text_column, label_column=label_column, max_length=max_length
    )
    parts, unknown = [], UnknownSymbols()
    for examples, strange in source.encoded(trained):
        parts.append(evaluated(trained.network, examples))
        unknown += strange
    result = merged(parts)
    words = len(result.labels)
    if unknown:
        say(str(unknown))
    names = [label_text(label) for label in trained.classes]
    if json:
        answer_json(
            {
                "words": words,
                "right": int(result.confusion.trace()),
                "accuracy": result.accuracy,
                "loss": result.loss,
                "calibration": result.reliability.to_dict(),
                "classes": list(trained.classes),
                "confusion": result.confusion.tolist(),
                "unknown_symbols": unknown.symbols,
            }
        )
        return
    right = int(result.confusion.trace())
    answer(f"accuracy  {result.accuracy:.2%}  ({right} of {words} examples)")
    answer(f"loss      {result.loss:.4f}")
    answer(f"calibration error  {result.reliability.error:.4f}")
    answer()
    rows = [[name, *row] for name, row in zip(names, result.confusion.tolist(), strict=True)]
    answer_table(["label / predicted", *names], rows)
