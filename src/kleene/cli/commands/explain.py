"""`kleene explain`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kleene.cli.console import answer_json, answer_styled, say, shows_colors
from kleene.cli.options import (
    MAX_LENGTH,
    NO_LAYOUT,
    Json,
    MaxLength,
    Method,
    ModelFolder,
    reads_data,
)
from kleene.errors import SettingError

if TYPE_CHECKING:
    from kleene.data.layout import Layout
    from kleene.explain.explain import Explanation
    from kleene.machine import Label, Word
    from kleene.model import Model


@reads_data
def explain(
    model: ModelFolder,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The text or sequence.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(metavar="DATA", help="Explain all rows of a file; - is stdin.")
    ] = None,
    method: Method = None,
    html: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write a web page to this file.")
    ] = None,
    layout: Layout = NO_LAYOUT,
    max_length: MaxLength = MAX_LENGTH,
    json: Json = False,
) -> None:
    """Show which parts of a sequence decide its label.

    Colours mark them, or a line below the text where there are none. A network that is a machine
    of few states is explained by its path through the states. With --json every line is an object.

    \b
    Example:
      kleene explain model 0110
      kleene explain model "not bad at all" --html why.html
      kleene explain model --file data.tsv --json
    """
    if (text is None) == (file is None):
        raise SettingError("give a text or --file, one of the two")
    from kleene.explain.explain import explain_many
    from kleene.model import Model

    trained = Model.load(model)
    if file is not None:
        words, _ = _read(trained, file, layout, max_length)
    else:
        words = trained.words([str(text)], typed=True)
    _name_unknown_symbols(trained, words)
    explained = explain_many(trained, words, method=method)
    if html is not None:
        _write_page(html, explained)
        say(f"wrote {html}")
    for one in explained if html is None or json else []:
        if json:
            answer_json(one.to_dict(), indent=None)
        else:
            width = shutil.get_terminal_size().columns
            answer_styled(one.to_text(width=width, colors=shows_colors()))


def _name_unknown_symbols(model: Model, words: Sequence[Word]) -> None:
    from kleene.data.validate import UnknownSymbols

    if model.reads_symbols:
        encoded = model.alphabet.encode_many(words)
        if unknown := UnknownSymbols.among(model.alphabet, words, encoded):
            say(str(unknown))


def _read(
    model: Model, path: str, layout: Layout, max_length: int
) -> tuple[list[Word], list[Label]]:
    from kleene.cli.input import DataSource

    source = DataSource(path=path, layout=layout, max_length=max_length)
    return source.words(model)


def _write_page(path: Path, explained: Sequence[Explanation]) -> None:
    from kleene.files import write_atomically

    head = '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Explanation</title>\n'
    body = "\n<hr>\n".join(one.to_html() for one in explained)
    write_atomically(path, f"{head}<body>\n{body}\n</body></html>\n")
