"""`kleene predict` and `kleene evaluate`: the network's answers to the rows of a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.console import answer, answer_json, answer_lines, answer_table, say
from kleene.cli.options import DATA, JSON, MODEL, OPTIONAL_DATA, OpenData, flag, option, reads_data
from kleene.errors import DataError, SettingError
from kleene.evaluation.percent import percent
from kleene.files import without_formula
from kleene.machine import label_texts

if TYPE_CHECKING:
    from kleene.data.layout import Example


@reads_data
def predict(
    model: Path = MODEL,
    data: str | None = OPTIONAL_DATA,
    word: list[str] | None = option(None, "TEXT", "A sequence instead of DATA; may be repeated."),
    columns: bool = flag("--columns", "Write CSV: the columns of DATA, and the predictions."),
    proof: Path | None = option(None, "FILE", "Refuse to answer unless this certificate holds."),
    json: bool = JSON,
    *,
    open_data: OpenData,
) -> None:
    """Predict the label of each sequence, one a line.

    Labels need not be there; a file may hold sequences only, one a line. With --json every line is
    an object with the prediction and the probabilities of all classes.

    \b
    Example:
      kleene predict model data.tsv
      kleene predict model --word 0110 --word 111
      kleene predict model reviews.csv --columns > predicted.csv
      echo 0110 | kleene predict model - --json
    """
    if (data is None) == (not word):
        raise SettingError("give DATA or --word, one of the two")
    if columns and data is None:
        raise SettingError("--columns writes the columns of DATA, got --word; leave one out")
    from kleene.data.layout import Example
    from kleene.data.validate import UnknownSymbols
    from kleene.evaluation import metrics
    from kleene.model import Model

    trained = Model.load(model)
    if proof is not None:
        from kleene.proof import require

        require(trained, proof)
    if data is None:
        typed = trained.words(word or [], typed=True)
        chunks = iter([[Example(one, None, 1) for one in typed]])
    else:
        chunks = open_data(data).chunks(trained, labelled=False, stage="predicting")
    names, unknown, header = label_texts(trained.classes), UnknownSymbols(), list[str]()
    for chunk in chunks:
        words = [example.word for example in chunk]
        encoded = trained.alphabet.encode_many(words)
        unknown += UnknownSymbols.among(trained.alphabet, words, encoded)
        found = metrics.predict(trained.network, encoded)
        answers = list(zip(found.predicted.tolist(), found.probabilities.tolist(), strict=True))
        rows = [_row(example) for example in chunk] if columns else [{}] * len(chunk)
        if json:
            for row, (best, shares) in zip(rows, answers, strict=True):
                given = dict(zip(names, shares, strict=True))
                told = {"prediction": trained.classes[best], "probabilities": given}
                answer_json({**row, **told}, indent=None)
        elif columns:
            predicted = [
                {**row, "prediction": names[best], "probability": f"{shares[best]:.4f}"}
                for row, (best, shares) in zip(rows, answers, strict=True)
            ]
            _write_csv(predicted, header)
        else:
            answer_lines(names[best] for best, _ in answers)
    if unknown:
        say(str(unknown))


def _row(example: Example) -> Mapping[str, Any]:
    if example.row is None:
        raise DataError("--columns needs one row for each sequence, got events; leave it out")
    return example.row


def _write_csv(rows: Sequence[Mapping[str, Any]], header: list[str]) -> None:
    """Write rows as CSV, the first ones below a header; no cell is a formula to a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if not header:
        header.extend(rows[0])
        writer.writerow(map(without_formula, header))
    for row in rows:
        cells = (row.get(name) for name in header)
        writer.writerow([without_formula(c) if isinstance(c, str) else c for c in cells])
    answer_lines([text.getvalue().removesuffix("\n")])


@reads_data
def evaluate(
    model: Path = MODEL,
    data: str = DATA,
    json: bool = JSON,
    *,
    open_data: OpenData,
) -> None:
    """Compare predictions with labels: accuracy, F1, confusions.

    The calibration error is the mean gap between the probability of an answer and the share of such
    answers that is right.

    \b
    Example:
      kleene evaluate model test.tsv
      kleene evaluate model test.jsonl.gz --json
    """
    import numpy as np

    from kleene.cli.summary import answer_classes
    from kleene.data.examples import Examples
    from kleene.data.validate import UnknownSymbols
    from kleene.evaluation import metrics
    from kleene.model import Model

    trained, parts, unknown = Model.load(model), [], UnknownSymbols()
    for chunk in open_data(data).chunks(trained, labelled=True, stage="evaluating"):
        words = [example.word for example in chunk]
        labels = np.array([trained.class_ids[example.label] for example in chunk])
        encoded = trained.alphabet.encode_many(words)
        unknown += UnknownSymbols.among(trained.alphabet, words, encoded)
        parts.append(metrics.evaluate(trained.network, Examples(words=encoded, labels=labels)))
    if unknown:
        say(str(unknown))
    result = metrics.merged(parts)
    rows, right = len(result.labels), int(result.confusion.trace())
    per_class = [asdict(one) for one in result.per_class]
    names = label_texts(trained.classes)
    if json:
        answer_json(
            {
                "rows": rows,
                "right": right,
                "accuracy": result.accuracy,
                "majority_accuracy": result.majority_accuracy,
                "per_class": [{"label": n, **o} for n, o in zip(names, per_class, strict=True)],
                "loss": result.loss,
                "calibration": result.reliability.to_dict(),
                "classes": list(trained.classes),
                "confusion": result.confusion.tolist(),
                "unknown_symbols": unknown.symbols,
            }
        )
        return
    answer(f"accuracy           {percent(result.accuracy)}  ({right} of {rows} rows)")
    answer(f"majority class     {percent(result.majority_accuracy)}")
    answer(f"loss               {result.loss:.4f}")
    answer(f"calibration error  {result.reliability.error:.4f}\n")
    answer_classes(trained, per_class, "class")
    answer()
    table = [[name, *row] for name, row in zip(names, result.confusion.tolist(), strict=True)]
    answer_table(["label / predicted", *names], table)
