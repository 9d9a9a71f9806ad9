"""`kleene certify`."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from kleene.cli.automaton_files import load_dfa
from kleene.cli.console import answer, answer_json, say
from kleene.cli.options import Json, ModelFolder


def certify(
    model: ModelFolder,
    dfa: Annotated[
        Path | None,
        typer.Argument(metavar="[DFA.json]", help="The automaton. [default: the network's own]"),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            metavar="TAU", help="Prove for this temperature. [default: the network's own]"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the certificate to this file.")
    ] = None,
    json: Json = False,
) -> None:
    """Prove that network and automaton are the same function.

    Status 0 means: on every sequence over its alphabet, of every length, `predict` of this model
    folder, in float32, at the temperature it runs with, returns the label that this automaton
    gives (with --temperature: at that one). Status 1: there is no proof, and what breaks it.

    \b
    Example:
      kleene extract model --out dfa.json
      kleene certify model dfa.json --out certificate.json
      kleene verify model dfa.json certificate.json
    """
    from dataclasses import asdict

    from kleene.model import Model
    from kleene.proof.certificate import Certificate
    from kleene.proof.certify import certify as prove

    machine = None if dfa is None else load_dfa(dfa)
    outcome = prove(Model.load(model), machine, temperature=temperature)
    if isinstance(outcome, Certificate) and out is not None:
        outcome.save(out)
        say(f"wrote {out}")
    if json:
        found = {"holds": outcome.holds, **json_format.loads(outcome.to_json())}
        if isinstance(outcome, Certificate) and outcome.verification is not None:
            found |= asdict(outcome.verification)
        answer_json(found)
    else:
        answer(str(outcome))
    if not outcome.holds:
        raise typer.Exit(1)
