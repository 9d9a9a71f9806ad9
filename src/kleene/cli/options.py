"""Options that several commands share, and the options of `train` from its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import Field
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, get_type_hints

import typer

from kleene.cli.automaton_files import NAMED
from kleene.config import NetworkOptions, Parameters, TrainConfig, described


def option(
    metavar: str | None, help: str, *flags: str, group: str | None = None, **limits: Any
) -> Any:
    """An option with a value; `group` is its heading in --help, `limits` are `min` and `max`."""
    return typer.Option(*flags, metavar=metavar, help=help, rich_help_panel=group, **limits)


def flag(names: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(names, help=help)


def argument(metavar: str, help: str) -> Any:
    """An argument by its place."""
    return typer.Argument(metavar=metavar, help=help)


DATA_HELP = (
    "TSV (sequence<TAB>label), CSV or Parquet with a header, JSONL, or an XES log; gz too; "
    "- is standard input."
)
COLUMNS = "Columns of DATA"  # the heading of these options in --help
DataFile = Annotated[str, argument("DATA", DATA_HELP)]
OptionalDataFile = Annotated[str | None, argument("[DATA]", DATA_HELP)]
Rows = Annotated[str | None, option("DATA", "All rows of a file; - is stdin.")]
ModelFolder = Annotated[Path, argument("MODEL", "The folder that `kleene train --out` wrote.")]
Tokens = Annotated[
    str | None,
    option(
        "chars|words|text",
        "Split texts into characters, at white space, or (text) into lower-case words "
        "and punctuation. [default: chosen from the texts, and said]",
    ),
]
Json = Annotated[bool, flag("--json", "Answer as JSON, for programs.")]
Seed = Annotated[int, option("S", "The same seed gives the same result.", min=0)]
AutomatonFiles = Annotated[
    list[Path] | None, option("FILE", f"Write the automaton, as {NAMED}; may be repeated.", "--out")
]


def _layout(metavar: str, help: str) -> Any:
    return Annotated[str | None, option(metavar, help, group=COLUMNS)]


FROM_OPTIONS: Any = None  # the default of a parameter that `reads_data` always fills
LAYOUT_OPTIONS = {
    "text_column": _layout("NAME", "Column or JSON key of the sequences."),
    "label_column": _layout("NAME", "Column or JSON key of the labels."),
    "delimiter": _layout("CHAR", "What separates columns: ';', tab. [default: comma]"),
    "case_column": _layout("NAME", "Event tables: rows of one case are a sequence."),
    "event_column": _layout("NAME", "Event tables: what happened, a symbol."),
    "order_column": _layout("NAME", "Event tables: number or ISO date to sort by."),
    "bins": _layout("N|sax:N", "Sequences of numbers: N quantile bins, or SAX."),
}
MAX_LENGTH = Annotated[
    int, option("N", "Refuse longer sequences, which take much memory.", min=1, group=COLUMNS)
]


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of data files in place of its parameter `open_data`.

    The command gets a function from the name of a file to its `DataSource`.
    """
    texts = {name: text for name, text in command.__annotations__.items() if name != "open_data"}
    plain = SimpleNamespace(__annotations__=texts)  # heavy types are known to checkers only
    hints = get_type_hints(plain, command.__globals__, include_extras=True)
    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        if parameter.name != "open_data":
            parameters.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        parameters += [
            *(_keyword(name, None, annotation) for name, annotation in LAYOUT_OPTIONS.items()),
            _keyword("max_length", 100_000, MAX_LENGTH),
        ]

    @wraps(command)
    def run(**given: Any) -> None:
        from kleene.cli.input import DataSource
        from kleene.data.bins import Bins
        from kleene.data.layout import Layout

        chosen = {name: given.pop(name) for name in LAYOUT_OPTIONS}
        max_length = given.pop("max_length")
        bins = chosen.pop("bins")
        layout = Layout(**chosen, bins=None if bins is None else Bins.parse(bins))

        def open_data(path: str) -> DataSource:
            return DataSource(path=path, layout=layout, max_length=max_length)

        command(open_data=open_data, **given)

    return _signed(run, parameters)


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every parameter of the estimator that has one.

    The command takes them together, as the argument `parameters`.
    """
    own = [one for one in signature(command).parameters.values() if one.name != "parameters"]
    options, groups = list(_estimator_options()), {one.name: group for group, one in described()}

    @wraps(command)
    def run(**arguments: Any) -> None:
        given: dict[str, Any] = {"network": {}, "training": {}}
        for one in options:
            value, group = arguments.pop(one.name), groups[one.name]
            if not group:
                given[one.name] = value
            elif value is not None:
                given[group][one.name] = value
        command(**arguments, parameters=given)

    return _signed(run, [*own, *options])


def _estimator_options() -> Iterator[Parameter]:
    kinds = {"": Parameters, "network": NetworkOptions, "training": TrainConfig}
    for group, one in described():
        if one.metadata["option"]:
            hint, default = get_type_hints(kinds[group])[one.name], one.default
            if group == "network":  # what is not given follows from the data
                hint, default = hint | None, None
            yield _keyword(one.name, default, Annotated[hint, _estimator_option(one, group)])


def _estimator_option(one: Field[Any], group: str) -> Any:
    name, about = f"--{one.name.replace('_', '-')}", one.metadata
    if isinstance(about["option"], str):
        name = about["option"]
    elif one.default is True:
        name = f"{name}/--no-{name[2:]}"
    help, _, default = about["help"].partition(" None: ")
    if default:
        help = f"{help} [default: {default.rstrip('.')}]"
    heading = "Training" if group == "training" else "Network"
    return option(about["values"] or None, help.replace("`", ""), name, group=heading)


def _keyword(name: str, default: Any, annotation: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _signed(run: Callable[..., None], parameters: Sequence[Parameter]) -> Callable[..., None]:
    """The function with these parameters as its signature, which typer reads."""
    keywords = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters]
    run.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in keywords}
    return run
