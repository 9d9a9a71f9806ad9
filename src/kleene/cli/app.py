"""All commands, in the order in which `kleene --help` lists them."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from kleene.cli.commands.automata import compare, export, induce, match
from kleene.cli.commands.demo import demo
from kleene.cli.commands.explain import explain
from kleene.cli.commands.extract import extract
from kleene.cli.commands.predict import evaluate, predict
from kleene.cli.commands.prove import certify, robust, verify
from kleene.cli.commands.report import report
from kleene.cli.commands.sample import sample
from kleene.cli.commands.serve import serve
from kleene.cli.commands.train import train
from kleene.errors import SettingError

COMMANDS = (
    *(demo, sample, train, evaluate, predict),
    *(extract, induce, certify, verify, robust, compare, match),
    *(explain, report, serve, export),
)
WELCOME = """Kleene: recurrent networks you can read as state machines.

  kleene demo                    the whole path once, in about a minute
  kleene train DATA --out MODEL  learn from labelled sequences: TSV, CSV, JSONL, Parquet
  kleene report MODEL DATA       a web page: what was learned, and how far to trust it

`kleene --help` lists all commands; `kleene COMMAND --help` explains one, with examples."""
RENAMED = {
    "read": "use `kleene extract NETWORK`",
    "prototypes": "use `kleene explain MODEL --prototypes DATA`",
    "phrases": "use `kleene explain MODEL --phrases DATA`",
    "languages": "use `kleene sample NAME`, `kleene sample NAME --dfa` or `kleene sample --list`",
    "plot": "use `kleene report MODEL DATA --plot NAME`",
    "warm": "use `kleene demo`, which compiles all kernels of training and prediction",
    "reproduce": "run the experiments of a clone: `python experiments/reproduce.py`",
}


class Command(TyperCommand):
    """A command whose help groups its options under headings."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The line after "Usage:"; arguments that may be left out have brackets."""
        given: list[Any] = [p for p in self.get_params(ctx) if p.param_type_name == "argument"]
        return ["[OPTIONS]", *(p.metavar if p.required else f"[{p.metavar}]" for p in given)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write each group of arguments and options."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            one: Any = parameter
            if one.param_type_name == "argument":
                groups["Arguments"].append((one.metavar, one.help))
            elif record := one.get_help_record(ctx):
                heading = getattr(one, "rich_help_panel", None) or "Options"
                groups.setdefault(heading, []).append(record)
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class Commands(TyperGroup):
    """The commands; names of earlier versions answer with the new name."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the arguments name."""
        if args[0] in RENAMED:
            raise SettingError(f"`kleene {args[0]}` is gone; {RENAMED[args[0]]}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="kleene",
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in COMMANDS:
    app.command(cls=Command)(command)


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

    Learn from labelled sequences, extract the automaton of the network, prove it, run it fast.

    \b
    Example:
      kleene sample tomita4 -n 2000 > data.tsv
      kleene train data.tsv --out model
      kleene extract model --out dfa.json --out dfa.svg
      kleene certify model dfa.json
    """
