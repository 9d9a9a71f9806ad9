"""Options that several commands share, and the options of `train` from its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field
from functools import wraps
from inspect import Parameter, Signature, signature
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from kleene.config import NetworkOptions, Parameters, TrainConfig, described

if TYPE_CHECKING:
    from kleene.cli.data import DataSource

Command = Callable[..., bool | None]
OpenData = Callable[[str], "DataSource"]
"""From the name of a file to its `DataSource`, with the options of the command."""


def option(default: Any, metavar: str | None, help: str, *flags: str, **more: Any) -> Any:
    """An option with a value; `group` is its heading in --help, `min` and `max` bound numbers."""
    group = more.pop("group", None)
    return typer.Option(default, *flags, metavar=metavar, help=help, rich_help_panel=group, **more)


def flag(names: str, help: str, default: bool | None = False) -> Any:
    """An option without a value."""
    return typer.Option(default, names, help=help)


def argument(metavar: str, help: str) -> Any:
    """An argument by its place; one in brackets may be left out."""
    default = None if metavar.startswith("[") else ...
    return typer.Argument(default, metavar=metavar.strip("[]"), help=help)


DATA_HELP = (
    "TSV (sequence<TAB>label), CSV or Parquet with a header, JSONL, or an XES log; gz too; "
    "- is standard input."
)
DATA, OPTIONAL_DATA = argument("DATA", DATA_HELP), argument("[DATA]", DATA_HELP)
ROWS = option(None, "DATA", "All rows of a file; - is stdin.")
MODEL = argument("MODEL", "The folder that `kleene train --out` wrote.")
JSON = flag("--json", "Answer as JSON, for programs.")
SEED = option(0, "S", "The same seed gives the same result.", min=0)
TOKENS_HELP = (
    "Split texts into characters, at white space, or (text) into lower-case words and "
    "punctuation. [default: chosen from the texts, and said]"
)
TOKENS = option(None, "chars|words|text", TOKENS_HELP)
ENDINGS = ".json, .dot, .svg, .png, .pdf, .mmd, .regex, .c or .onnx"
AUTOMATON_FILES = option(None, "FILE", f"Write {ENDINGS}; may be repeated.", "--out")
COLUMNS = {  # options of data files
    "text_column": ("NAME", "Column or JSON key of the sequences."),
    "label_column": ("NAME", "Column or JSON key of the labels."),
    "delimiter": ("CHAR", "What separates columns: ';', tab. [default: comma]"),
    "case_column": ("NAME", "Event tables: rows of one case are a sequence."),
    "event_column": ("NAME", "Event tables: what happened, a symbol."),
    "order_column": ("NAME", "Event tables: number or ISO date to sort by."),
    "bins": ("N|sax:N", "Sequences of numbers: N quantile bins, or SAX."),
}
MAX_LENGTH = "Refuse longer sequences, which take much memory."


def reads_data(command: Command) -> Command:
    """Give a command the options of data files.

    Its parameter `open_data` gets a function from the name of a file to its `DataSource`.
    """
    group = "Columns of DATA"
    options = [
        _keyword(name, option(None, *about, group=group), str | None)
        for name, about in COLUMNS.items()
    ]
    limit = option(100_000, "N", MAX_LENGTH, min=1, group=group)

    def opener(given: dict[str, Any]) -> Any:
        from kleene.cli.data import DataSource
        from kleene.data.bins import Bins
        from kleene.data.layout import Layout

        max_length, bins = given.pop("max_length"), given.pop("bins")
        layout = Layout(**given, bins=None if bins is None else Bins.parse(bins))
        return lambda path: DataSource(path=path, layout=layout, max_length=max_length)

    return _expanded(command, "open_data", [*options, _keyword("max_length", limit, int)], opener)


def with_parameters(command: Command) -> Command:
    """Give a command an option for every parameter of the estimator that has one.

    Its parameter `parameters` gets all of them, as arguments of the estimator.
    """
    kinds = {"": Parameters, "network": NetworkOptions, "training": TrainConfig}
    declared = [(group, one) for group, one in described() if one.metadata["option"]]
    options = []
    for group, one in declared:
        hint, default = get_type_hints(kinds[group])[one.name], one.default
        if group == "network":  # what is not given follows from the data
            hint, default = hint | None, None
        options.append(_keyword(one.name, default, Annotated[hint, _estimator_option(one, group)]))

    def grouped(given: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {"network": {}, "training": {}}
        for group, one in declared:
            if not group:
                found[one.name] = given[one.name]
            elif given[one.name] is not None:
                found[group][one.name] = given[one.name]
        return found

    return _expanded(command, "parameters", options, grouped)


def _estimator_option(one: Field[Any], group: str) -> Any:
    name, about = f"--{one.name.replace('_', '-')}", one.metadata
    if isinstance(about["option"], str):
        name = about["option"]
    help, _, default = about["help"].partition(" None: ")
    if default:
        help = f"{help} [default: {default.rstrip('.')}]"
    heading = "Training" if group == "training" else "Network"
    metavar, text = about["values"] or None, help.replace("`", "")
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=heading)


def _keyword(name: str, default: Any, annotation: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _expanded(
    command: Command,
    name: str,
    options: Sequence[Parameter],
    collect: Callable[[dict[str, Any]], Any],
) -> Command:
    """The command with options in place of one parameter, which gets what `collect` returns."""
    texts: Mapping[str, Any] = {n: t for n, t in command.__annotations__.items() if n != name}
    plain = SimpleNamespace(__annotations__=texts)  # heavy types are known to checkers only
    hints = get_type_hints(plain, command.__globals__, include_extras=True)

    @wraps(command)
    def run(**given: Any) -> bool | None:
        values = {one.name: given.pop(one.name) for one in options}
        return command(**given, **{name: collect(values)})

    parameters: list[Parameter] = []
    for one in signature(command).parameters.values():
        own = _keyword(one.name, one.default, hints.get(one.name))
        parameters += options if one.name == name else [own]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run
