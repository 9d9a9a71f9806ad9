"""All commands, in the order in which `kleene --help` lists them."""

from __future__ import annotations

from typing import Annotated

import typer

from kleene.cli.commands.certify import certify
from kleene.cli.commands.compare import compare
from kleene.cli.commands.demo import demo
from kleene.cli.commands.evaluate import evaluate
from kleene.cli.commands.explain import explain
from kleene.cli.commands.export import export
from kleene.cli.commands.extract import extract
from kleene.cli.commands.induce import induce
from kleene.cli.commands.languages import languages
from kleene.cli.commands.match import match
from kleene.cli.commands.phrases import phrases
from kleene.cli.commands.plot import plot
from kleene.cli.commands.predict import predict
from kleene.cli.commands.prototypes import prototypes
from kleene.cli.commands.read import read
from kleene.cli.commands.report import report
from kleene.cli.commands.robust import robust
from kleene.cli.commands.sample import sample
from kleene.cli.commands.serve import serve
from kleene.cli.commands.train import train
from kleene.cli.commands.verify import verify
from kleene.cli.commands.warm import warm

app = typer.Typer(
    name="kleene",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    *(demo, sample, train, induce, predict, evaluate),
    *(extract, read, certify, verify, robust, compare, match, export),
    *(explain, prototypes, phrases),
    *(report, serve, warm),
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(plot, name="plot")
app.add_typer(languages, name="languages")


def _version(asked: bool) -> None:
    if asked:
        from kleene import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def kleene(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error came from; works anywhere.")
    ] = False,
) -> None:
    """Recurrent networks you can read as state machines.

    Learn from labelled sequences, read the automaton in the network, prove it, run it fast.

    \b
    Example:
      kleene languages sample tomita4 -n 2000 > data.tsv
      kleene train data.tsv --out model
      kleene extract model --out dfa.json --out dfa.svg
      kleene certify model dfa.json
    """
