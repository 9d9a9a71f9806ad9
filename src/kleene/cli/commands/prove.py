"""`kleene certify`, `kleene verify` and `kleene robust`: answers that hold for all sequences."""

from __future__ import annotations

from dataclasses import asdict
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.automaton_files import load_machine
from kleene.cli.console import answer, answer_json, answer_result, say
from kleene.cli.options import JSON, MODEL, argument, flag, option
from kleene.cli.progress import progress
from kleene.errors import SettingError

if TYPE_CHECKING:
    from kleene.automata import DFA
    from kleene.automata.counter.machine import CounterMachine
    from kleene.model import Model
    from kleene.proof.verify import Verification

VERBOSE = flag("--verbose", "Show the whole claim, what it assumes, and the margins.")


def certify(
    model: Path = MODEL,
    dfa: Path | None = argument(
        "[MACHINE.json]", "An automaton or counter machine. [default: the network's own automaton]"
    ),
    depth: int = option(20, "D", "Counter machine: sequences up to this depth.", min=1),
    length: int = option(1000, "L", "Counter machine: sequences up to this length.", min=0),
    teach: Path | None = option(
        None, "FOLDER", "Counter machine: teach a copy to count exactly, and prove the copy."
    ),
    out: Path | None = option(None, "FILE", "Write the certificate to this file."),
    verbose: bool = VERBOSE,
    json: bool = JSON,
) -> bool:
    """Prove that network and automaton are the same function.

    Status 0 means: on every sequence over its alphabet, of every length, `predict` of this model
    folder, in float32, at the temperature it runs with, returns the label that this automaton
    gives. Status 1: there is no proof, and the answer says what breaks it. The proof assumes IEEE
    float32 sums and products in any order, sigmoid, tanh and exp within their error bounds, eval
    mode, and symbols of the alphabet.

    With a counter machine, status 0 means the same of every sequence of at most --length symbols on
    which the machine's counter stays within --depth.

    \b
    Example:
      kleene extract model --out dfa.json
      kleene certify model dfa.json --out certificate.json
      kleene verify model dfa.json certificate.json
      kleene extract lstm --method counter --data data.tsv --out machine.json
      kleene certify lstm machine.json --depth 20 --length 1000 --teach exact
    """
    from kleene.automata.counter.machine import CounterMachine
    from kleene.model import Model
    from kleene.proof.functions import unmeasured

    if note := unmeasured():
        say(note)
    trained, machine = Model.load(model), None if dfa is None else load_machine(dfa)
    if isinstance(machine, CounterMachine):
        text, found, proof = _certify_counter(trained, machine, depth, length, teach)
    elif teach is not None:
        raise SettingError("--teach needs a counter machine; `extract --method counter` reads one")
    else:
        text, found, proof = _certify(trained, machine, verbose)
    if proof is not None and out is not None:
        proof.save(out)
        say(f"wrote {out}")
    answer_json(found) if json else answer(text)
    return bool(found["holds"])


def _certify(model: Model, dfa: DFA | None, verbose: bool) -> tuple[str, dict[str, Any], Any]:
    """The answer as text and as plain values, and the certificate if there is one."""
    from kleene.proof.certificate import Certificate
    from kleene.proof.certify import certify as prove

    with progress("proving"):
        outcome = prove(model, dfa)
    found = {"holds": outcome.holds, **loads(outcome.to_json())}
    if not isinstance(outcome, Certificate) or outcome.verification is None:
        return str(outcome), found, None
    proved = outcome.verification
    text = str(outcome) if verbose else _sentence(proved, outcome.dfa)
    return text, {**found, **asdict(proved)}, outcome


def _certify_counter(
    model: Model, machine: CounterMachine, depth: int, length: int, teach: Path | None
) -> tuple[str, dict[str, Any], Any]:
    """The same for a counter machine, and for a copy of the model that was taught to count."""
    from kleene.induction.teach_counter import teach_counter
    from kleene.proof.counter import counter_bound, find_counter

    unit = None
    if teach is not None:
        model, unit = teach_counter(model, machine, find_counter(model, machine), depth=depth)
        model.save(teach)
        say(f"wrote {teach}")
    with progress("proving"):
        bound = counter_bound(model, machine, unit, depth=depth, length=length)
    return str(bound), bound.to_dict(), bound.certificate


def _sentence(proved: Verification, machine: DFA | CounterMachine) -> str:
    """What was proved, in one sentence."""
    from kleene.automata import DFA

    if isinstance(machine, DFA) and machine.num_states == 1:
        return f"proved, but says little: the network answers {machine.output(0)} to every sequence"
    exact = ", checked in outward-rounded arithmetic" if proved.exact else ""
    if "of every length" not in proved.claim:
        return f"proved: {proved.claim}{exact}"
    return f"proved: `kleene predict` gives every sequence the label of this automaton{exact}"


def verify(
    model: Path = MODEL,
    dfa: Path = argument("MACHINE.json", "The automaton, or the counter machine."),
    certificate: Path = argument("CERTIFICATE.json", "What `kleene certify --out` wrote."),
    exact: bool = flag("--exact", "Round every bound outward; float64 is not trusted."),
    verbose: bool = VERBOSE,
    json: bool = JSON,
) -> bool:
    """Check a certificate again, independently of what made it.

    Status 0 means: on every sequence over its alphabet, of every length, `predict` of this model
    folder, in float32, at the temperature it runs with, returns the label that this automaton
    gives. For a counter machine: of every sequence up to the depth and the length that the
    certificate names. Status 1: that is not proved. The proof assumes IEEE float32 sums and
    products in any order, sigmoid, tanh and exp within their error bounds, eval mode, and symbols
    of the alphabet.

    \b
    Example:
      kleene verify model dfa.json certificate.json
      kleene verify model dfa.json certificate.json --exact
    """
    from kleene.proof.verify import verify as check

    with progress("verifying"):
        result = check(model, dfa, certificate, exact=exact)
    brief = result.holds and not (verbose or json)
    text = _sentence(result, load_machine(dfa)) if brief else str(result)
    answer_json(asdict(result)) if json else answer(text)
    return result.holds


def robust(
    model: Path = MODEL,
    sequence: str = argument("SEQUENCE", "The sequence."),
    edits: int = option(1, "N", "At most N edits.", min=0),
    kinds: str = option("substitute,insert,delete", "KINDS", "Which edits, with commas between."),
    certificate: Path | None = option(None, "FILE", "Verify this proof. [default: prove]"),
    json: bool = JSON,
) -> bool:
    """Decide whether a few edits can change the label of a sequence.

    The answer is exact, by a search in the automaton that the model is proved to be. Status 0: no
    edit of at most N symbols changes the label. Status 1: some do, and the shortest is shown.
    Status 2: an error, or a model without a proof.

    \b
    Example:
      kleene robust model 0110 --edits 2
      kleene robust model 0110 --kinds substitute --certificate proof.json --json
    """
    from kleene.model import Model
    from kleene.proof.certificate import Certificate
    from kleene.proof.robustness import robustness

    trained = Model.load(model)
    word = trained.words([sequence], typed=True)[0]
    proof = None if certificate is None else Certificate.load(certificate)
    chosen = [kind.strip() for kind in kinds.split(",")]
    with progress("proving"):
        found = robustness(trained, word, edits=edits, kinds=chosen, certificate=proof)
    answer_result(found, json=json)
    return found.certified
