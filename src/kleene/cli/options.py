"""Arguments and options that several commands have, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DATA_HELP = (
    "TSV (sequence<TAB>label), CSV with a header, or JSONL with sequence and label; gz too; "
    "- is standard input."
)
DataFile = Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)]
OptionalDataFile = Annotated[str | None, typer.Argument(metavar="[DATA]", help=DATA_HELP)]
ModelFolder = Annotated[
    Path, typer.Argument(metavar="MODEL", help="The folder that `kleene train --out` wrote.")
]
TextColumn = Annotated[
    str | None,
    typer.Option("--text-column", metavar="NAME", help="CSV column or JSON key of the texts."),
]
LabelColumn = Annotated[
    str | None,
    typer.Option("--label-column", metavar="NAME", help="CSV column or JSON key of the labels."),
]
Tokens = Annotated[
    str | None,
    typer.Option(
        metavar="chars|words|text",
        help="Split texts into characters, at white space, or (text) into lower-case words and "
        "punctuation. [default: guessed between the first two, and said]",
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
