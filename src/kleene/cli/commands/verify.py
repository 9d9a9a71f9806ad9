"""`kleene verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kleene.cli.console import answer, answer_json
from kleene.cli.options import Json, ModelFolder


def verify(
    model: ModelFolder,
    dfa: Annotated[Path, typer.Argument(metavar="DFA.json", help="The automaton.")],
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE.json", help="What `kleene certify --out` wrote.")
    ],
    temperature: Annotated[
        float | None,
        typer.Option(
            metavar="TAU", help="Check a proof for this temperature. [default: the model's own]"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check a certificate again, independently of what made it.

    Status 0 means: on every sequence over its alphabet, of every length, `predict` of this model
    folder, in float32, at the temperature it runs with, returns the label that this automaton
    gives. Status 1: that is not proved. With --temperature, the same for that temperature. It
    assumes IEEE float32 sums and products in any order, sigmoid, tanh and exp within their error
    bounds, eval mode, and symbols of the alphabet.

    \b
    Example:
      kleene verify model dfa.json certificate.json
    """
    from dataclasses import asdict

    from kleene.proof.verify import verify as check

    result = check(model, dfa, certificate, temperature=temperature)
    if json:
        answer_json(asdict(result))
    else:
        answer(str(result))
    if not result.holds:
        raise typer.Exit(1)
