"""`kleene certify` and `kleene verify`: proofs for all words, and their checking."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from kleene.cli.console import answer, answer_json, say
from kleene.cli.options import Json, ModelFolder
from kleene.cli.reading import load_dfa


def certify(
    model: ModelFolder,
    dfa: Annotated[
        Path | None,
        typer.Argument(metavar="[DFA.json]", help="The automaton. [default: the network's own]"),
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(metavar="TAU", help="[default: the network's own]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the certificate to this file.")
    ] = None,
    json: Json = False,
) -> None:
    """Prove that network and automaton give every word, however long, the same label.

    Status 1 when there is no proof; what breaks it is said.

    \b
    Example:
      kleene extract model --out dfa.json
      kleene certify model dfa.json --out certificate.json
      kleene verify model dfa.json certificate.json
    """
    from kleene.model import Model
    from kleene.proof.certificate import Certificate
    from kleene.proof.certify import certify as prove

    machine = None if dfa is None else load_dfa(dfa)
    outcome = prove(Model.load(model), machine, temperature=temperature)
    if isinstance(outcome, Certificate) and out is not None:
        outcome.save(out)
        say(f"wrote {out}")
    if json:
        answer_json({"holds": outcome.holds, **json_format.loads(outcome.to_json())})
    else:
        answer(str(outcome))
    if not outcome.holds:
        raise typer.Exit(1)


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
