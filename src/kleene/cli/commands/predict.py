"""`kleene predict` and `kleene evaluate`: the network's answers to the rows of a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kleene.cli.console import (
    answer,
    answer_json,
    answer_lines,
    answer_table,
    label_texts,
    say,
)
from kleene.cli.options import (
    FROM_OPTIONS,
    DataFile,
    Json,
    ModelFolder,
    OptionalDataFile,
    Seed,
    flag,
    option,
    reads_data,
)
from kleene.errors import DataError, SettingError
from kleene.files import without_formula

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kleene.cli.input import OpenData
    from kleene.data.layout import Example
    from kleene.model import Model


@reads_data
def predict(
    model: ModelFolder,
    data: OptionalDataFile = None,
    word: Annotated[
        list[str] | None, option("TEXT", "A sequence instead of DATA; may be repeated.")
    ] = None,
    columns: Annotated[
        bool, flag("--columns", "Write CSV: the columns of DATA, then prediction and probability.")
    ] = False,
    open_data: OpenData = FROM_OPTIONS,
    samples: Annotated[
        int | None, option("N", "Mean of N passes with noise; see above.", min=1)
    ] = None,
    noise: Annotated[
        str | None,
        option("states|dropout", "The noise of --samples. [default: the noise of the training]"),
    ] = None,
    seed: Seed = 0,
    proof: Annotated[
        Path | None, option("FILE", "Refuse to answer unless this certificate holds.")
    ] = None,
    json: Json = False,
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
    from kleene.data.validate import UnknownSymbols
    from kleene.model import Model

    trained = Model.load(model)
    if proof is not None:
        from kleene.proof import require

        require(trained, proof)
    classes = trained.classes
    names = label_texts(classes)
    unknown, header = UnknownSymbols(), None
    for examples in _examples(trained, data, word or [], open_data):
        words = [example.word for example in examples]
        encoded = trained.alphabet.encode_many(words)
        unknown += UnknownSymbols.among(trained.alphabet, words, encoded)
        best, probabilities, spread = _predictions(trained, encoded, samples, noise, seed)
        if json:
            for row, i in enumerate(best):
                columns_given = _row(examples[row]) if columns else {}
                named = _named(names, probabilities[row])
                found = {"prediction": classes[i], "probabilities": named}
                answer_json({**columns_given, **found, **spread(row, names)}, indent=None)
        elif columns:
            rows = [
                {**_row(example), "prediction": names[i], "probability": f"{p[i]:.4f}"}
                for example, i, p in zip(examples, best, probabilities, strict=True)
            ]
            answer_lines(_csv_lines(rows, header))
            header = header or list(rows[0])
        else:
            answer_lines(names[i] for i in best)
    if unknown:
        say(str(unknown))


def _examples(
    model: Model, data: str | None, typed: Sequence[str], open_data: OpenData
) -> Iterator[list[Example]]:
    from kleene.data.layout import Example

    if data is None:
        return iter([[Example(word, None, 1) for word in model.words(typed, typed=True)]])
    return open_data(data).examples(model, labelled=False)


def _predictions(
    model: Model, encoded: Sequence[Any], samples: int | None, noise: str | None, seed: int
) -> tuple[list[int], NDArray[np.float32], Any]:
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


def _named(names: list[str], values: NDArray[np.float32]) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


def _row(example: Example) -> Mapping[str, Any]:
    if example.row is None:
        raise DataError("--columns needs one row for each sequence, got events; leave it out")
    return example.row


def _csv_lines(rows: Sequence[Mapping[str, Any]], header: list[str] | None) -> list[str]:
    """Rows as CSV without formulas, after their header unless it has been written."""
    text = io.StringIO()
    names = header or list(rows[0])
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    above = [] if header else [{name: name for name in names}]
    for row in (*above, *rows):
        cells = {k: without_formula(v) if isinstance(v, str) else v for k, v in row.items()}
        writer.writerow(cells)
    return text.getvalue().removesuffix("\n").split("\n")


@reads_data
def evaluate(
    model: ModelFolder,
    data: DataFile,
    open_data: OpenData = FROM_OPTIONS,
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
    from kleene.cli.training_summary import answer_classes, evaluate_file, named
    from kleene.model import Model

    trained = Model.load(model)
    result, unknown = evaluate_file(trained, open_data(data))
    rows, right = len(result.labels), int(result.confusion.trace())
    per_class = named(trained, map(asdict, result.per_class))
    names = label_texts(trained.classes)
    if json:
        answer_json(
            {
                "rows": rows,
                "right": right,
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
    answer(f"accuracy           {result.accuracy:.2%}  ({right} of {rows} rows)")
    answer(f"majority class     {result.majority_accuracy:.2%}")
    answer(f"loss               {result.loss:.4f}")
    answer(f"calibration error  {result.reliability.error:.4f}")
    answer()
    answer_classes(per_class)
    answer()
    table = [[name, *row] for name, row in zip(names, result.confusion.tolist(), strict=True)]
    answer_table(["label / predicted", *names], table)
