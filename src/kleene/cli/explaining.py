"""`kleene explain`, `kleene prototypes` and `kleene phrases`: the reasons of a network."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kleene.cli.console import answer, answer_json, say
from kleene.cli.options import (
    MAX_LENGTH,
    DataFile,
    Json,
    LabelColumn,
    MaxLength,
    ModelFolder,
    TextColumn,
)
from kleene.errors import SettingError

if TYPE_CHECKING:
    from kleene.explain.explain import Explanation
    from kleene.machine import Label, Word
    from kleene.model import Model

Method = Annotated[
    str, typer.Option(metavar="level|change|evidence", help="How symbols are weighed.")
]
Top = Annotated[int, typer.Option(metavar="N", help="How many to list.", min=1)]
MinCount = Annotated[
    int, typer.Option(metavar="N", help="Leave out what occurs less often.", min=1)
]


def explain(
    model: ModelFolder,
    word: Annotated[str | None, typer.Argument(metavar="[WORD]", help="The word.")] = None,
    file: Annotated[
        str | None, typer.Option(metavar="DATA", help="Explain all words of a file; - is stdin.")
    ] = None,
    method: Method = "evidence",
    html: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write a web page to this file.")
    ] = None,
    text_column: TextColumn = None,
    max_length: MaxLength = MAX_LENGTH,
    json: Json = False,
) -> None:
    """Explain predictions: how much each symbol of a word speaks for its label.

    With --json every line is an object.

    \b
    Example:
      kleene explain model 0110
      kleene explain model "not bad at all" --html why.html
      kleene explain model --file words.txt --json
    """
    if (word is None) == (file is None):
        raise SettingError("give a word or --file, one of the two")
    from kleene.cli.data import typed_word
    from kleene.explain.explain import explain_many
    from kleene.model import Model

    trained = Model.load(model)
    if file is not None:
        words, _ = _read(trained, file, text_column, None, max_length)
    else:
        words = [typed_word(str(word), trained)]
    explained = explain_many(*_parts(trained), words, method=method)
    if html is not None:
        _write_page(html, explained)
        say(f"wrote {html}")
    for one in explained if html is None or json else []:
        if json:
            answer_json(one.to_dict(), indent=None)
        else:
            answer(one.to_ansi() if sys.stdout.isatty() else str(one))


def prototypes(
    model: ModelFolder,
    data: DataFile,
    top: Top = 10,
    min_count: MinCount = 5,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    max_length: MaxLength = MAX_LENGTH,
    json: Json = False,
) -> None:
    """Say what the states stand for: the symbols that lead to each, and to each class.

    \b
    Example:
      kleene prototypes model reviews.csv --text-column review
      torchrun --nproc-per-node 4 -m kleene prototypes model corpus.tsv.gz
    """
    from kleene.cli.data import DataFile as Source
    from kleene.distributed import init_process_group
    from kleene.explain.prototypes import read_prototypes
    from kleene.model import Model

    trained = Model.load(model)
    source = Source(
        path=data, text_column=text_column, label_column=label_column, max_length=max_length
    )
    with init_process_group() as process_group:
        found = read_prototypes(
            *_parts(trained),
            source.each_word(trained, process_group),
            top=top,
            min_count=min_count,
            process_group=process_group,
        )
    answer_json(found.to_dict()) if json else answer(str(found))


def phrases(
    model: ModelFolder,
    data: DataFile,
    n: Annotated[int, typer.Option("-n", metavar="N", help="Symbols in a phrase.", min=1)] = 2,
    top: Top = 10,
    min_count: MinCount = 1,
    method: Method = "level",
    text_column: TextColumn = None,
    max_length: MaxLength = MAX_LENGTH,
    json: Json = False,
) -> None:
    """List the phrases that speak most for each class.

    \b
    Example:
      kleene phrases model reviews.csv --text-column review -n 3
    """
    from kleene.explain.phrases import phrases as read
    from kleene.model import Model

    trained = Model.load(model)
    words, _ = _read(trained, data, text_column, None, max_length)
    found = read(*_parts(trained), words, n=n, top=top, min_count=min_count, method=method)
    answer_json(found.to_dict()) if json else answer(str(found))


def _parts(model: Model) -> tuple[Any, Any, Any]:
    alphabet = model.alphabet if model.network.config.num_symbols else None
    return model.network, alphabet, model.classes


def _read(
    model: Model, path: str, text_column: str | None, label_column: str | None, max_length: int
) -> tuple[list[Word], list[Label]]:
    from kleene.cli.data import DataFile as Source

    source = Source(
        path=path, text_column=text_column, label_column=label_column, max_length=max_length
    )
    return source.words(model)


def _write_page(path: Path, explained: Sequence[Explanation]) -> None:
    from kleene.files import write_atomically

    head = '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Explanation</title>\n'
    body = "\n<hr>\n".join(one.to_html() for one in explained)
    write_atomically(path, f"{head}<body>\n{body}\n</body></html>\n")
