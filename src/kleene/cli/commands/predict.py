"""`kleene predict` and `kleene evaluate`: the network's answers to the rows of a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.console import answer, answer_json, answer_lines, answer_table, say
from kleene.cli.options import (
    DATA,
    JSON,
    MODEL,
    OPTIONAL_DATA,
    SEED,
    OpenData,
    flag,
    option,
    reads_data,
)
from kleene.errors import DataError, SettingError
from kleene.files import without_formula
from kleene.machine import label_texts
from kleene.percent import percent

if TYPE_CHECKING:
    from kleene.data.layout import Example
    from kleene.model import Model


@reads_data
def predict(
    model: Path = MODEL,
    data: str | None = OPTIONAL_DATA,
    word: list[str] | None = option(None, "TEXT", "A sequence instead of DATA; may be repeated."),
    columns: bool = flag("--columns", "Write CSV: the columns of DATA, and the predictions."),
    samples: int | None = option(None, "N", "Mean of N passes with noise; see above.", min=1),
    noise: str | None = option(
        None, "states|dropout", "Noise of --samples. [default: as in training]"
    ),
    seed: int = SEED,
    proof: Path | None = option(None, "FILE", "Refuse to answer unless this certificate holds."),
    json: bool = JSON,
    *,
    open_data: OpenData,
) -> None:
    """Predict the label of each sequence, one a line.

    Labels need not be there; a file may hold sequences only, one a line. With --json every line is
    an object with the prediction and the probabilities of all classes. With --samples they are
    means over N random passes, and --json adds how far the passes spread: --noise states draws the
    states from their probabilities, --noise dropout leaves dropout on.

    \b
    Example:
      kleene predict model data.tsv
      kleene predict model --word 0110 --word 111
      kleene predict model reviews.csv --columns > predicted.csv
      echo 0110 | kleene predict model - --json --samples 20 --noise states
    """
    if (data is None) == (not word):
        raise SettingError("give DATA or --word, one of the two")
    if columns and data is None:
        raise SettingError("--columns writes the columns of DATA, got --word; leave one out")
    from kleene.data.layout import Example
    from kleene.data.validate import UnknownSymbols
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
    names = label_texts(trained.classes)
    unknown, columns_of = UnknownSymbols(), list[str]()
    for chunk in chunks:
        words = [example.word for example in chunk]
        encoded = trained.alphabet.encode_many(words)
        unknown += UnknownSymbols.among(trained.alphabet, words, encoded)
        best, probabilities, spread = _predictions(trained, encoded, samples, noise, seed)
        if json:
            for row, (example, i) in enumerate(zip(chunk, best, strict=True)):
                shares = _named(names, probabilities[row])
                found = {"prediction": trained.classes[i], "probabilities": shares}
                given = _row(example) if columns else {}
                answer_json({**given, **found, **spread(row, names)}, indent=None)
        elif columns:
            rows = [
                {**_row(example), "prediction": names[i], "probability": f"{shares[i]:.4f}"}
                for example, i, shares in zip(chunk, best, probabilities, strict=True)
            ]
            _write_csv(rows, columns_of or list(rows[0]), header=not columns_of)
            columns_of = columns_of or list(rows[0])
        else:
            answer_lines(names[i] for i in best)
    if unknown:
        say(str(unknown))


def _predictions(
    model: Model, encoded: Sequence[Any], samples: int | None, noise: str | None, seed: int
) -> tuple[list[int], Any, Any]:
    """Classes, probabilities, and a function that says how far the samples of a row spread."""
    from kleene.config import choose
    from kleene.evaluation.metrics import predict
    from kleene.evaluation.uncertainty import NOISES, draw_predictions

    if samples is None:
        done = predict(model.network, encoded)
        return done.predicted.tolist(), done.probabilities, lambda row, names: {}
    chosen = None if noise is None else choose("noise", noise, NOISES)
    drawn = draw_predictions(model.network, encoded, samples=samples, noise=chosen, seed=seed)

    def spread(row: int, names: list[str]) -> dict[str, Any]:
        return {
            "spread": _named(names, drawn.spread[row]),
            "entropy": float(drawn.entropy[row]),
            "mutual_information": float(drawn.mutual_information[row]),
        }

    return drawn.mean.argmax(-1).tolist(), drawn.mean, spread


def _named(names: list[str], values: Any) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


def _row(example: Example) -> Mapping[str, Any]:
    if example.row is None:
        raise DataError("--columns needs one row for each sequence, got events; leave it out")
    return example.row


def _write_csv(rows: Sequence[Mapping[str, Any]], names: Sequence[str], *, header: bool) -> None:
    """Write columns of rows as CSV; no cell is a formula to a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow(map(without_formula, names))
    for row in rows:
        cells = (row.get(name) for name in names)
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
    from kleene.cli.summary import answer_classes, evaluate_file
    from kleene.model import Model

    trained = Model.load(model)
    result, unknown = evaluate_file(trained, open_data(data))
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
