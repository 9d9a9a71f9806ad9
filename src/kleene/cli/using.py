"""`kleene predict` and `kleene evaluate`."""

from __future__ import annotations

from kleene.cli.console import answer, answer_json, answer_lines, columns, label_text, say
from kleene.cli.options import (
    MAX_LENGTH,
    DataFile,
    Json,
    LabelColumn,
    MaxLength,
    ModelFolder,
    TextColumn,
)


def predict(
    model: ModelFolder,
    data: DataFile,
    text_column: TextColumn = None,
    max_length: MaxLength = MAX_LENGTH,
    json: Json = False,
) -> None:
    """Predict the label of every word, one a line, in the order of the words.

    Labels need not be there; a file may hold words only, one a line. With --json every line is an
    object with the prediction and the probabilities of all classes.

    \b
    Example:
      kleene predict model words.txt
      echo 0110 | kleene predict model - --json
    """
    import numpy as np

    from kleene.cli.data import DataFile as Source
    from kleene.data.examples import Examples
    from kleene.data.given import UnknownSymbols
    from kleene.evaluate import evaluate as evaluated
    from kleene.model import Model

    trained = Model.load(model)
    classes = trained.classes
    source = Source(path=data, text_column=text_column, label_column=None, max_length=max_length)
    unknown = UnknownSymbols()
    for chunk in source.examples(trained, labelled=False):
        words = [example.word for example in chunk]
        encoded = trained.alphabet.encode_many(words)
        unknown += UnknownSymbols.among(trained.alphabet, words, encoded)
        examples = Examples(words=encoded, labels=np.zeros(len(words), dtype=np.int64))
        probabilities = evaluated(trained.network, examples).probabilities
        best = probabilities.argmax(-1).tolist()
        if not json:
            answer_lines(label_text(classes[i]) for i in best)
            continue
        for i, row in zip(best, probabilities.tolist(), strict=True):
            named = {label_text(label): p for label, p in zip(classes, row, strict=True)}
            answer_json({"prediction": classes[i], "probabilities": named}, indent=None)
    if unknown:
        say(str(unknown))


def evaluate(
    model: ModelFolder,
    data: DataFile,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    max_length: MaxLength = MAX_LENGTH,
    json: Json = False,
) -> None:
    """Compare predictions with the labels of the data: accuracy and a confusion table.

    \b
    Example:
      kleene evaluate model test.tsv
      kleene evaluate model test.jsonl.gz --json
    """
    import numpy as np

    from kleene.cli.data import DataFile as Source
    from kleene.data.examples import Examples
    from kleene.data.given import UnknownSymbols
    from kleene.evaluate import evaluate as evaluated
    from kleene.model import Model

    trained = Model.load(model)
    source = Source(
        path=data, text_column=text_column, label_column=label_column, max_length=max_length
    )
    words, labels = source.words(trained, labelled=True)
    encoded = trained.alphabet.encode_many(words)
    numbers = {label: i for i, label in enumerate(trained.classes)}
    examples = Examples(words=encoded, labels=np.array([numbers[label] for label in labels]))
    result = evaluated(trained.network, examples)
    unknown = UnknownSymbols.among(trained.alphabet, words, encoded)
    if unknown:
        say(str(unknown))
    names = [label_text(label) for label in trained.classes]
    if json:
        answer_json(
            {
                "words": len(words),
                "right": int(result.confusion.trace()),
                "accuracy": result.accuracy,
                "loss": result.loss,
                "classes": list(trained.classes),
                "confusion": result.confusion.tolist(),
                "unknown_symbols": unknown.symbols,
            }
        )
        return
    right = int(result.confusion.trace())
    answer(f"accuracy  {result.accuracy:.2%}  ({right} of {len(words)} words)")
    answer(f"loss      {result.loss:.4f}")
    answer()
    rows = [[name, *row] for name, row in zip(names, result.confusion.tolist(), strict=True)]
    answer(columns(["label / predicted", *names], rows))
