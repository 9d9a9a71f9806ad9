"""`kleene explain`: why a label, and what states, symbols and phrases stand for."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kleene.cli.console import answer_json, answer_result, answer_styled, say, shows_colors
from kleene.cli.options import JSON, MODEL, ROWS, OpenData, argument, option, reads_data
from kleene.cli.progress import progress
from kleene.errors import SettingError

if TYPE_CHECKING:
    from kleene.machine import Word
    from kleene.model import Model


@reads_data
def explain(
    model: Path = MODEL,
    text: str | None = argument("[SEQUENCE]", "The text or sequence to explain."),
    file: str | None = ROWS,
    prototypes: str | None = option(None, "DATA", "List symbols that lead to states and classes."),
    phrases: str | None = option(None, "DATA", "List the phrases that speak most for each class."),
    method: str | None = option(
        None,
        "level|evidence|contribution",
        "How symbols are weighed. [default: what fits the model]",
    ),
    n: int | None = option(None, "N", "Symbols in a phrase. [default: 2]", "-n", min=1),
    top: int = option(10, "N", "How many prototypes or phrases to list.", min=1),
    min_count: int | None = option(
        None, "N", "Leave out what is rarer. [default: 5 for symbols, 1 for phrases]", min=1
    ),
    json: bool = JSON,
    *,
    open_data: OpenData,
) -> None:
    """Show which parts of a sequence decide its label.

    Colours mark them, or a line below the text where there are none. A network that is a machine
    of few states is shown with its path through the states. With --json every line is an object.
    --prototypes and --phrases explain the whole model along the sequences of a file.

    \b
    Example:
      kleene explain model 0110
      kleene explain model "not bad at all"
      kleene explain model --file data.tsv --json
      kleene explain model --prototypes reviews.csv --text-column review
      kleene explain model --phrases reviews.csv -n 3
    """
    if sum(one is not None for one in (text, file, prototypes, phrases)) != 1:
        raise SettingError("give one of a sequence, --file, --prototypes and --phrases")
    if (n is not None and phrases is None) or (min_count and not (prototypes or phrases)):
        raise SettingError("-n is for --phrases, --min-count for --prototypes and --phrases")
    if method is not None and (prototypes or phrases):
        raise SettingError("--method is for a sequence or --file")
    from kleene.model import Model

    trained = Model.load(model)
    if prototypes is not None:
        from kleene.explain.prototypes import prototypes as list_prototypes

        words = (one.word for one in open_data(prototypes).examples(trained, labelled=None))
        listed = list_prototypes(trained, words, top=top, min_count=min_count or 5)
        answer_result(listed, json=json)
    elif phrases is not None:
        from kleene.explain.phrases import phrases as find

        texts = open_data(phrases).words(trained)
        with progress("looking for phrases"):
            found = find(trained, texts, n=n or 2, top=top, min_count=min_count or 1)
        answer_result(found, json=json)
    elif file is not None:
        _explain(trained, open_data(file).words(trained), method, json=json)
    else:
        _explain(trained, trained.words([str(text)], typed=True), method, json=json)


def _explain(model: Model, words: Sequence[Word], method: str | None, *, json: bool) -> None:
    from kleene.data.validate import UnknownSymbols
    from kleene.explain.explain import explain_many

    if model.reads_symbols:
        encoded = model.alphabet.encode_many(words)
        if unknown := UnknownSymbols.among(model.alphabet, words, encoded):
            say(str(unknown))
    with progress("explaining"):
        explained = explain_many(model, words, method=method)
    width = shutil.get_terminal_size().columns
    for one in explained:
        if json:
            answer_json(one.to_dict(), indent=None)
        else:
            answer_styled(one.to_text(width=width, colors=shows_colors()))
