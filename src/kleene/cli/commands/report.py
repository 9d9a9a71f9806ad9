"""`kleene report`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kleene.cli.console import answer, say
from kleene.cli.options import (
    MAX_LENGTH,
    NO_LAYOUT,
    DataFile,
    MaxLength,
    ModelFolder,
    Seed,
    reads_data,
)

if TYPE_CHECKING:
    from kleene.data.layout import Layout


@reads_data
def report(
    model: ModelFolder,
    data: DataFile,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write.")] = Path(
        "report.html"
    ),
    name: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Its title. [default: the model's folder]")
    ] = None,
    seed: Seed = 0,
    layout: Layout = NO_LAYOUT,
    max_length: MaxLength = MAX_LENGTH,
) -> None:
    """Write a web page about a model and how far to trust it.

    It shows the automaton and runs texts through it. One file for any browser, which loads nothing
    from anywhere; labels need not be there.

    \b
    Example:
      kleene report model data.tsv --out report.html
    """
    from kleene.cli.input import DataSource
    from kleene.model import Model
    from kleene.report.html import write_report

    trained = Model.load(model)
    source = DataSource(path=data, layout=layout, max_length=max_length)
    words, labels = source.words(trained)
    with _bar() as progress:
        written = write_report(
            trained,
            words,
            labels,
            out,
            name=name or model.resolve().name,
            seed=seed,
            progress=progress,
        )
    answer(str(written))
    say(f"{written.stat().st_size / 1e6:.2f} MB; open it in a browser")


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None] | None]:
    """A bar at a terminal, which is removed at the end."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from kleene.training.progress import bar_console

    shown = TextColumn("reading the model"), BarColumn(bar_width=24), TimeElapsedColumn()
    with Progress(*shown, console=bar_console(), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
