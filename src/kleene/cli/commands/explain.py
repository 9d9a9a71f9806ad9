"""`kleene explain`: why a label, and what states, symbols and phrases stand for."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kleene.cli.console import answer_json, answer_result, answer_styled, say, shows_colors
from kleene.cli.options import (
    FROM_OPTIONS,
    Json,
    ModelFolder,
    Rows,
    argument,
    option,
    reads_data,
)
from kleene.errors import SettingError

if TYPE_CHECKING:
    from kleene.cli.input import OpenData
    from kleene.explain.explain import Explanation
    from kleene.machine import Word
    from kleene.model import Model


@reads_data
def explain(
    model: ModelFolder,
    text: Annotated[str | None, argument("[SEQUENCE]", "The text or sequence to explain.")] = None,
    file: Rows = None,
    prototypes: Annotated[
        str | None, option("DATA", "List the symbols that lead to each state and to each class.")
    ] = None,
    phrases: Annotated[
        str | None, option("DATA", "List the phrases that speak most for each class.")
    ] = None,
    method: Annotated[
        str | None,
        option(
            "level|evidence|contribution|lean|path",
            "How symbols are weighed. [default: the method that fits the model]",
        ),
    ] = None,
    html: Annotated[Path | None, option("OUT", "Write a web page to this file.")] = None,
    n: Annotated[
        int | None,
        option(
            "N",
            "Symbols in a phrase. [default: sequences that decide the label, else 2]",
            "-n",
            min=1,
        ),
    ] = None,
    top: Annotated[int, option("N", "How many prototypes or phrases to list.", min=1)] = 10,
    min_count: Annotated[
        int | None,
        option(
            "N", "Leave out what occurs less often. [default: 5 for symbols, 1 for phrases]", min=1
        ),
    ] = None,
    open_data: OpenData = FROM_OPTIONS,
    json: Json = False,
) -> None:
    """Show which parts of a sequence decide its label.

    Colours mark them, or a line below the text where there are none. A network that is a machine
    of few states is explained by its path through the states. With --json every line is an object.
    --prototypes and --phrases explain the whole model along the sequences of a file.

    \b
    Example:
      kleene explain model 0110
      kleene explain model "not bad at all" --html why.html
      kleene explain model --file data.tsv --json
      kleene explain model --prototypes reviews.csv --text-column review
      kleene explain model --phrases reviews.csv -n 3
      torchrun --nproc-per-node 4 -m kleene explain model --prototypes corpus.tsv.gz
    """
    if sum(one is not None for one in (text, file, prototypes, phrases)) != 1:
        raise SettingError("give one of a sequence, --file, --prototypes and --phrases")
    if html is not None and (prototypes or phrases):
        raise SettingError("--html shows explained sequences; leave it out, or see `kleene report`")
    if (n is not None and phrases is None) or (min_count and not (prototypes or phrases)):
        raise SettingError("-n is for --phrases, --min-count for --prototypes and --phrases")
    from kleene.distributed import rank_and_world_size
    from kleene.model import Model

    if rank_and_world_size()[0] and prototypes is None:
        return  # the first process does it alone
    trained = Model.load(model)
    if prototypes is not None:
        found = _prototypes(trained, prototypes, top, min_count or 5, open_data)
        answer_result(found, json=json)
    elif phrases is not None:
        from kleene.explain.phrases import phrases as find

        words, _ = open_data(phrases).words(trained)
        answer_result(
            find(trained, words, n=n, top=top, min_count=min_count or 1, method=method), json=json
        )
    else:
        given = open_data(file).words(trained)[0] if file is not None else None
        words = trained.words([str(text)], typed=True) if given is None else given
        _explain(trained, words, method, html, json=json)


def _prototypes(model: Model, path: str, top: int, min_count: int, open_data: OpenData) -> Any:
    from kleene.distributed import init_process_group
    from kleene.explain.prototypes import read_prototypes

    with init_process_group() as group:
        words = open_data(path).each_word(model, group)
        return read_prototypes(model, words, top=top, min_count=min_count, process_group=group)


def _explain(
    model: Model, words: Sequence[Word], method: str | None, html: Path | None, *, json: bool
) -> None:
    from kleene.data.validate import UnknownSymbols
    from kleene.explain.explain import explain_many

    if model.reads_symbols:
        encoded = model.alphabet.encode_many(words)
        if unknown := UnknownSymbols.among(model.alphabet, words, encoded):
            say(str(unknown))
    explained = explain_many(model, words, method=method)
    if html is not None:
        _write_page(html, explained)
        say(f"wrote {html}")
    for one in explained if html is None or json else []:
        if json:
            answer_json(one.to_dict(), indent=None)
        else:
            width = shutil.get_terminal_size().columns
            answer_styled(one.to_text(width=width, colors=shows_colors()))


def _write_page(path: Path, explained: Sequence[Explanation]) -> None:
    from kleene.files import write_atomically

    head = '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Explanation</title>\n'
    body = "\n<hr>\n".join(one.to_html() for one in explained)
    write_atomically(path, f"{head}<body>\n{body}\n</body></html>\n")
