"""`kleene certify`."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kleene.cli.automaton_files import load_machine
from kleene.cli.console import answer, answer_json, say
from kleene.cli.options import Json, ModelFolder
from kleene.errors import SettingError

if TYPE_CHECKING:
    from kleene.automata.counter.machine import CounterMachine


def certify(
    model: ModelFolder,
    dfa: Annotated[
        Path | None,
        typer.Argument(
            metavar="[MACHINE.json]",
            help="The automaton, or a counter machine. [default: the network's own automaton]",
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            metavar="TAU", help="Prove for this temperature. [default: the network's own]"
        ),
    ] = None,
    depth: Annotated[
        int,
        typer.Option(metavar="D", min=1, help="Counter machine: sequences up to this depth."),
    ] = 20,
    length: Annotated[
        int,
        typer.Option(metavar="L", min=0, help="Counter machine: sequences up to this length."),
    ] = 1000,
    teach: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Counter machine: teach a copy of the network to count exactly, write it to this "
            "folder, and prove that one.",
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
    gives (with --temperature: at that one). Status 1: there is no proof, and what breaks it. It
    assumes IEEE float32 sums and products in any order, sigmoid, tanh and exp within their error
    bounds, eval mode, and symbols of the alphabet.

    With a counter machine, status 0 means the same of every sequence of at most --length symbols on
    which the machine's counter stays within --depth; such a proof has no certificate to verify.

    \b
    Example:
      kleene extract model --out dfa.json
      kleene certify model dfa.json --out certificate.json
      kleene verify model dfa.json certificate.json
      kleene extract lstm-model --method counter --data data.tsv --out machine.json
      kleene certify lstm-model machine.json --depth 20 --length 1000 --teach exact-model
    """
    from dataclasses import asdict

    from kleene.automata.counter.machine import CounterMachine
    from kleene.model import Model
    from kleene.proof.certificate import Certificate
    from kleene.proof.certify import certify as prove

    machine = None if dfa is None else load_machine(dfa)
    if isinstance(machine, CounterMachine):
        if out is not None or temperature is not None:
            raise SettingError("--out and --temperature are for finite automata; leave them out")
        _certify_counter(model, machine, depth, length, teach, json)
        return
    if teach is not None:
        raise SettingError("--teach needs a counter machine; `extract --method counter` reads one")
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


def _certify_counter(
    folder: Path, machine: CounterMachine, depth: int, length: int, teach: Path | None, json: bool
) -> None:
    from dataclasses import asdict

    from kleene.induction.teach_counter import teach_counter
    from kleene.model import Model
    from kleene.proof.counter import counter_bound, find_counter

    model = Model.load(folder)
    unit = None
    if teach is not None:
        model, unit = teach_counter(model, machine, find_counter(model, machine), depth=depth)
        model.save(teach)
        say(f"wrote {teach}")
    bound = counter_bound(model, machine, unit, depth=depth, length=length)
    if json:
        answer_json({"holds": bound.reached, **asdict(bound)})
    else:
        answer(str(bound))
    if not bound.reached:
        raise typer.Exit(1)
