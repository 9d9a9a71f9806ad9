"""`kleene predict`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kleene.cli.console import answer_json, answer_lines, label_text, say
from kleene.cli.options import (
    MAX_LENGTH,
    NO_LAYOUT,
    Json,
    MaxLength,
    ModelFolder,
    OptionalDataFile,
    Seed,
    reads_data,
)
from kleene.errors import SettingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kleene.data.layout import Layout


@reads_data
def predict(
    model: ModelFolder,
    data: OptionalDataFile = None,
    word: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="A sequence instead of DATA; may be given repeatedly."),
    ] = None,
    layout: Layout = NO_LAYOUT,
    max_length: MaxLength = MAX_LENGTH,
    samples: Annotated[
        int | None,
        typer.Option(metavar="N", help="Answer N times with random states; see below.", min=1),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Predict the label of each sequence, one a line.

    Labels need not be there; a file may hold sequences only, one a line. With --json every line is
    an object with the prediction and the probabilities of all classes. With --samples these are
    means over N passes, in each of which the states are drawn from their probabilities (without
    states: dropout is left on), and --json adds how far the passes spread.

    \b
    Example:
      kleene predict model data.tsv
      kleene predict model --word 0110 --word 111
      echo 0110 | kleene predict model - --json --samples 20
    """
    if (data is None) == (not word):
        raise SettingError("give DATA or --word, one of the two")
    import numpy as np

    from kleene.cli.input import DataSource, typed_word
    from kleene.data.examples import Examples
    from kleene.data.validate import UnknownSymbols
    from kleene.evaluation.metrics import evaluate as evaluated
    from kleene.evaluation.uncertainty import draw_predictions
    from kleene.model import Model

    trained = Model.load(model)
    classes = trained.classes
    if data is None:
        chunks = iter([[typed_word(text, trained) for text in word or []]])
    else:
        source = DataSource(path=data, layout=layout, max_length=max_length)
        found = source.examples(trained, labelled=False)
        chunks = ([example.word for example in chunk] for chunk in found)
    unknown = UnknownSymbols()
    for words in chunks:
        encoded = trained.alphabet.encode_many(words)
        unknown += UnknownSymbols.among(trained.alphabet, words, encoded)
        examples = Examples(words=encoded, labels=np.zeros(len(words), dtype=np.int64))
        drawn = None
        if samples is None:
            done = evaluated(trained.network, examples)
            probabilities, best = done.probabilities, done.predicted.tolist()
        else:
            drawn = draw_predictions(trained.network, examples, samples=samples, seed=seed)
            probabilities = drawn.mean
            best = probabilities.argmax(-1).tolist()
        if not json:
            answer_lines(label_text(classes[i]) for i in best)
            continue
        names = [label_text(label) for label in classes]
        for row, i in enumerate(best):
            line = {"prediction": classes[i], "probabilities": _named(names, probabilities[row])}
            if drawn is not None:
                line["spread"] = _named(names, drawn.spread[row])
                line["entropy"] = float(drawn.entropy[row])
                line["mutual_information"] = float(drawn.mutual_information[row])
            answer_json(line, indent=None)
    if unknown:
        say(str(unknown))


def _named(names: list[str], values: NDArray[np.float32]) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))
