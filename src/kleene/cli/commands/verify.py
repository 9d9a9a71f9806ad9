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
    json: Json = False,
) -> None:
    """Check a certificate again, independently of what made it; status 1 when it does not hold.

    \b
    Example:
      kleene verify model dfa.json certificate.json
    """
    from dataclasses import asdict

    from kleene.proof.verify import verify as check

    verdict = check(model, dfa, certificate)
    if json:
        answer_json(asdict(verdict))
    else:
        answer(str(verdict))
    if not verdict.holds:
        raise typer.Exit(1)
