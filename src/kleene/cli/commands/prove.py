"""`kleene certify`, `kleene verify` and `kleene robust`: answers that hold for all sequences."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kleene.cli.automaton_files import load_machine
from kleene.cli.console import answer, answer_json, answer_result, columns, say
from kleene.cli.options import (
    FROM_OPTIONS,
    Json,
    ModelFolder,
    Rows,
    argument,
    option,
    reads_data,
)
from kleene.errors import AlphabetError, DataError, SettingError
from kleene.files import read_regular

if TYPE_CHECKING:
    from kleene.automata.counter.machine import CounterMachine
    from kleene.cli.input import OpenData
    from kleene.machine import Symbol, Word
    from kleene.model import Model
    from kleene.proof.robustness import EditSearch

Temperature = Annotated[
    float | None, option("TAU", "The temperature of the proof. [default: the network's own]")
]


def certify(
    model: ModelFolder,
    dfa: Annotated[
        Path | None,
        argument(
            "[MACHINE.json]",
            "The automaton, or a counter machine. [default: the network's own automaton]",
        ),
    ] = None,
    temperature: Temperature = None,
    depth: Annotated[int, option("D", "Counter machine: sequences up to this depth.", min=1)] = 20,
    length: Annotated[
        int, option("L", "Counter machine: sequences up to this length.", min=0)
    ] = 1000,
    teach: Annotated[
        Path | None,
        option(
            "FOLDER",
            "Counter machine: teach a copy of the network to count exactly, write the copy "
            "to this folder, and prove the copy.",
        ),
    ] = None,
    out: Annotated[Path | None, option("FILE", "Write the certificate to this file.")] = None,
    json: Json = False,
) -> None:
    """Prove that network and automaton are the same function.

    Status 0 means: on every sequence over its alphabet, of every length, `predict` of this model
    folder, in float32, at the temperature it runs with, returns the label that this automaton
    gives (with --temperature: at that one). Status 1: there is no proof, and the answer says what
    breaks it. The proof assumes IEEE float32 sums and products in any order, sigmoid, tanh and exp
    within their error bounds, eval mode, and symbols of the alphabet.

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
    answer_json({"holds": bound.reached, **asdict(bound)}) if json else answer(str(bound))
    if not bound.reached:
        raise typer.Exit(1)


def verify(
    model: ModelFolder,
    dfa: Annotated[Path, argument("DFA.json", "The automaton.")],
    certificate: Annotated[
        Path, argument("CERTIFICATE.json", "What `kleene certify --out` wrote.")
    ],
    temperature: Temperature = None,
    json: Json = False,
) -> None:
    """Check a certificate again, independently of what made it.

    Status 0 means: on every sequence over its alphabet, of every length, `predict` of this model
    folder, in float32, at the temperature it runs with, returns the label that this automaton
    gives. Status 1: that is not proved. With --temperature, the same for that temperature. The
    proof assumes IEEE float32 sums and products in any order, sigmoid, tanh and exp within their
    error bounds, eval mode, and symbols of the alphabet.

    \b
    Example:
      kleene verify model dfa.json certificate.json
    """
    from dataclasses import asdict

    from kleene.proof.verify import verify as check

    result = check(model, dfa, certificate, temperature=temperature)
    answer_json(asdict(result)) if json else answer(str(result))
    if not result.holds:
        raise typer.Exit(1)


@reads_data
def robust(
    model: ModelFolder,
    sequence: Annotated[str | None, argument("[SEQUENCE]", "The sequence.")] = None,
    file: Rows = None,
    edits: Annotated[int, option("N", "At most N edits.", min=0)] = 1,
    kinds: Annotated[
        str, option("KINDS", "Which edits, with commas between.")
    ] = "substitute,insert,delete",
    substitutes: Annotated[
        Path | None,
        option(
            "FILE", 'JSON: {"symbol": ["substitute", ...]}. [default: any symbol for any other]'
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        option("FILE", "Verify this proof. [default: prove the network's own automaton]"),
    ] = None,
    open_data: OpenData = FROM_OPTIONS,
    json: Json = False,
) -> None:
    """Decide whether a few edits can change the label of a sequence.

    The answer is exact, by a search in the automaton that the model is proved to be. Status 0: no
    edit of at most N symbols changes the label. Status 1: some do, and the shortest is shown.
    Status 2: an error, or a model without a proof. For a file the answer is the share of sequences
    whose label no n edits change, for each n up to N, and the status is 0.

    \b
    Example:
      kleene robust model 0110 --edits 2
      kleene robust model --file words.txt --edits 3 --kinds substitute --json
    """
    if (sequence is None) == (file is None):
        raise SettingError("give a sequence or --file, one of the two")
    from kleene.model import Model
    from kleene.proof.certificate import Certificate
    from kleene.proof.robustness import EditSearch, certified_dfa

    trained = Model.load(model)
    allowed = None if substitutes is None else _substitutes(substitutes, trained)
    proof = None if certificate is None else Certificate.load(certificate)
    chosen = [kind.strip() for kind in kinds.split(",")]
    dfa = certified_dfa(trained, proof)
    search = EditSearch(dfa, edits=edits, kinds=chosen, substitutes=allowed)
    if file is not None:
        _answer_file(search, open_data(file).words(trained)[0], json=json)
        return
    found = search(trained.words([str(sequence)], typed=True)[0])
    answer_result(found, json=json)
    if not found.certified:
        raise typer.Exit(1)


def _answer_file(search: EditSearch, words: list[Word], *, json: bool) -> None:
    """The share that is certified at each number of edits; unknown symbols are not covered."""
    from kleene.proof.robustness import certified_share

    results, unknown = [], 0
    for word in words:
        try:
            results.append(search(word))
        except AlphabetError:
            unknown += 1
    total = max(len(words), 1)
    shares = [s * len(results) / total for s in certified_share(results, search.budget)]
    if json:
        answer_json(
            {
                "sequences": len(words),
                "unknown_symbols": unknown,
                "kinds": list(search.kinds),
                "certified_share": shares,
            }
        )
        return
    rows = [[str(n), f"{share:.2%}"] for n, share in enumerate(shares)]
    answer(columns(["edits", "certified"], rows))
    if unknown:
        say(f"{unknown} of {len(words)} sequences have unknown symbols and are not certified")


def _substitutes(path: Path, model: Model) -> dict[Symbol, list[Symbol]]:
    """Lists of allowed substitutes; symbols that are no texts are named by their text."""
    symbols = {str(symbol): symbol for symbol in model.alphabet.symbols}
    try:
        content = json_format.loads(read_regular(path))
        named = {old: [str(s) for s in new] for old, new in content.items()}
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}; give a JSON file") from None
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise DataError(
            f'{path} must be JSON like {{"a": ["b"]}}, got {error!s:.100}; write it so'
        ) from None
    for name in (n for old, new in named.items() for n in (old, *new)):
        if name not in symbols:
            raise AlphabetError(f"{path}: the symbol {name!r} is not in the alphabet; remove it")
    return {symbols[old]: [symbols[s] for s in new] for old, new in named.items()}
