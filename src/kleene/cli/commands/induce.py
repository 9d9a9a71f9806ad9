"""`kleene induce`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kleene.cli.automaton_files import NAMED, check_ending, write_dfa
from kleene.cli.console import answer, answer_json, say
from kleene.cli.options import (
    MAX_LENGTH,
    NO_LAYOUT,
    DataFile,
    Json,
    MaxLength,
    Seed,
    Tokens,
    reads_data,
)

if TYPE_CHECKING:
    from kleene.data.layout import Layout


@reads_data
def induce(
    data: DataFile,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help=f"Write the automaton, as {NAMED}; may be given more than once.",
        ),
    ] = None,
    max_states: Annotated[
        int | None,
        typer.Option(metavar="N", help="States at most. [default: as many as pay]", min=1),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="S", help="CPU seconds at most. [default: a limit of work]"),
    ] = None,
    seed: Seed = 0,
    tokens: Tokens = None,
    layout: Layout = NO_LAYOUT,
    max_length: MaxLength = MAX_LENGTH,
    json: Json = False,
) -> None:
    """Find a small automaton for labelled sequences, no network.

    The search weighs the size of the automaton against the labels it explains, so that wrong labels
    do not add states; a tenth of the rows is held back to check what it finds. Pictures show only
    the moves that the rows take; the other formats have all.

    \b
    Example:
      kleene languages sample tomita4 -n 2000 > data.tsv
      kleene induce data.tsv --out dfa.svg --out dfa.json
      kleene induce sessions.csv.gz --text-column Sequence --max-states 6 --json
    """
    for path in out or []:
        check_ending(path)
    from kleene.cli.input import DataSource
    from kleene.induction import induce as search

    source = DataSource(path=data, layout=layout, max_length=max_length).fitted()
    rows = source.training(tokens)
    with _status() as show:
        found = search(
            rows.words,
            rows.labels or [],
            max_states,
            seconds,
            seed,
            tokens="symbols",
            progress=show,
        )
    for path in out or []:
        write_dfa(found.dfa, path, rows.words)
        say(f"wrote {path}")
    if json:
        answer_json(found.to_dict())
    else:
        answer(str(found))


@contextmanager
def _status() -> Iterator[Callable[[str], None]]:
    """A line on standard error that shows the best automaton so far; nothing without a terminal."""
    if not sys.stderr.isatty():
        yield lambda message: None
        return
    from rich.console import Console

    with Console(stderr=True).status("searching") as status:
        yield lambda message: status.update(f"best so far: {message}")
