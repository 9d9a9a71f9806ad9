"""Arguments and options that several commands have, each written once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, get_type_hints

import typer

DATA_HELP = (
    "TSV (sequence<TAB>label), CSV or Parquet with a header, JSONL, or an XES log; gz too; "
    "- is standard input."
)
DataFile = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)]
OptionalDataFile = Annotated[str | None, typer.Argument(metavar="[DATA]", help=DATA_HELP)]
ModelFolder = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The folder that `kleene train --out` wrote.")
]
Tokens = Annotated[
    str | None,
    typer.Option(
        metavar="chars|words|text",
        help="Split texts into characters, at white space, or (text) into lower-case words and "
        "punctuation. [default: chosen from the texts, and said]",
    ),
]
MAX_LENGTH = 100_000
MaxLength = Annotated[
    int,
    typer.Option(metavar="N", help="Refuse longer sequences, which take much memory.", min=1),
]
Json = Annotated[bool, typer.Option("--json", help="Answer as JSON, for programs.")]
Seed = Annotated[int, typer.Option(metavar="S", help="The same seed gives the same result.", min=0)]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Write to this file instead.")]
Method = Annotated[
    str | None,
    typer.Option(
        metavar="level|change|evidence|contribution|lean",
        help="How symbols are weighed. [default: what fits the model]",
    ),
]
Top = Annotated[int, typer.Option(metavar="N", help="How many to list.", min=1)]
MinCount = Annotated[
    int, typer.Option(metavar="N", help="Leave out what occurs less often.", min=1)
]


def _column(option: str, help: str) -> Any:
    return Annotated[str | None, typer.Option(option, metavar="NAME", help=help)]


NO_LAYOUT: Any = None  # the default of a parameter that `reads_data` always fills
LAYOUT_OPTIONS = {
    "text_column": _column("--text-column", "Column or JSON key of the sequences."),
    "label_column": _column("--label-column", "Column or JSON key of the labels."),
    "delimiter": Annotated[
        str | None,
        typer.Option(metavar="CHAR", help="What separates columns: ';', tab. [default: comma]"),
    ],
    "case_column": _column("--case-column", "Event tables: rows of one case are a sequence."),
    "event_column": _column("--event-column", "Event tables: what happened, a symbol."),
    "order_column": _column("--order-column", "Event tables: number or ISO date to sort by."),
    "bins": Annotated[
        str | None,
        typer.Option(metavar="N|sax:N", help="Sequences of numbers: N quantile bins, or SAX."),
    ],
}


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Layout` in place of its parameter `layout`."""
    texts = {name: text for name, text in command.__annotations__.items() if name != "layout"}
    plain = SimpleNamespace(__annotations__=texts)  # heavy types are known to checkers only
    hints = get_type_hints(plain, command.__globals__, include_extras=True)
    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        if parameter.name != "layout":
            parameters.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        parameters += [
            Parameter(name, parameter.kind, default=None, annotation=annotation)
            for name, annotation in LAYOUT_OPTIONS.items()
        ]

    @wraps(command)
    def run(**given: Any) -> None:
        from kleene.data.bins import Bins
        from kleene.data.layout import Layout

        chosen = {name: given.pop(name) for name in LAYOUT_OPTIONS}
        bins = chosen.pop("bins")
        layout = Layout(**chosen, bins=None if bins is None else Bins.parse(bins))
        command(layout=layout, **given)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
