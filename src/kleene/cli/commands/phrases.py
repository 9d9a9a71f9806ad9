"""`kleene phrases`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kleene.cli.console import answer, answer_json
from kleene.cli.options import (
    MAX_LENGTH,
    NO_LAYOUT,
    DataFile,
    Json,
    MaxLength,
    Method,
    MinCount,
    ModelFolder,
    Top,
    reads_data,
)

if TYPE_CHECKING:
    from kleene.data.layout import Layout
    from kleene.machine import Label, Word
    from kleene.model import Model


@reads_data
def phrases(
    model: ModelFolder,
    data: DataFile,
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            metavar="N",
            help="Symbols in a phrase. [default: sequences that decide the label, else 2]",
            min=1,
        ),
    ] = None,
    top: Top = 10,
    min_count: MinCount = 1,
    method: Method = None,
    layout: Layout = NO_LAYOUT,
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
    words, _ = _read(trained, data, layout, max_length)
    found = read(trained, words, n=n, top=top, min_count=min_count, method=method)
    answer_json(found.to_dict()) if json else answer(str(found))


def _read(
    model: Model, path: str, layout: Layout, max_length: int
) -> tuple[list[Word], list[Label]]:
    from kleene.cli.input import DataSource

    source = DataSource(path=path, layout=layout, max_length=max_length)
    return source.words(model)
