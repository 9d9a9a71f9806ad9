"""How far to trust an automaton read off a network, in sentences that anybody can follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kleene.automata.moves import known_words
from kleene.errors import KleeneError
from kleene.explain.markup import as_json, as_text, joint
from kleene.extraction.checks.ambiguity import Ambiguity
from kleene.extraction.result import Extraction
from kleene.machine import Word
from kleene.model import Model
from kleene.nn.state_weights import adds_up
from kleene.proof.certify import certify
from kleene.proof.robustness import EditSearch
from kleene.report.summed_answers import summed_answers

MOST = 8  # ambiguities that are listed
EDITED = 200  # examples whose edits are searched


def trust(
    model: Model, reading: Extraction, words: Sequence[Word] = (), *, own: bool = True
) -> dict[str, Any]:
    """Fidelity, ambiguities, a shortest disagreement and the proof, where there is one.

    Of a proved model it also says how many of some `words` keep their label under any one edit. A
    network whose answer is a sum over all steps is not compared with the automaton's last state.
    """
    if adds_up(model.network):
        return summed_answers(model, words)
    proof = reading.certificate
    if proof is None and reading.faithful:
        proof = _proof(model, reading)
    same = reading.fidelity
    return {
        "states": reading.dfa.num_states,
        "in_use": reading.states_in_use,
        "method": reading.method,
        "faithful": reading.faithful,
        "fidelity": same.to_dict(),
        "agreement": _agreement(reading, "of the given examples" if own else "random sequences"),
        "disagreement": _disagreement(reading),
        "compared": _compared(reading),
        "ambiguities": [_ambiguity(one) for one in reading.ambiguities if one.matters][:MOST],
        "ambiguous": sum(one.matters for one in reading.ambiguities),
        "unseen": len(reading.unseen),
        "proved": bool(getattr(proof, "holds", False)),
        "proof": _proof_text(proof, reading),
        "robust": _robust_text(proof, reading, words),
        "detail": None if proof is None else str(proof),
        "steps": list(reading.steps),
    }


def _proof(model: Model, reading: Extraction) -> Any:
    try:
        return certify(model, reading.dfa)
    except KleeneError:
        return None  # a kind of network that no proof is known for


def _proof_text(proof: Any, reading: Extraction) -> str:
    if proof is None:
        if not reading.faithful:
            return "There is no proof, since the two differ."
        return "There is no proof: none is known for this kind of network."
    if not proof.holds:
        return "A proof for all sequences was tried and fails; see the details."
    if proof.at_running_temperature:
        return (
            "Proved: network and automaton give the same answer to every sequence of every length, "
            "not only to those that were tried."
        )
    return (
        f"Proved for the network at temperature {proof.temperature:g}; it runs at "
        f"{proof.running_temperature:g}, for which there is no proof."
    )


def _robust_text(proof: Any, reading: Extraction, words: Sequence[Word]) -> str | None:
    """The certified share at one edit, where the proof is of the network as it runs."""
    known = known_words(reading.dfa, words)
    if not (known and proof is not None and proof.holds and proof.at_running_temperature):
        return None
    search = EditSearch(reading.dfa, edits=1)
    some = known[:EDITED]
    safe = sum(search(word).certified for word in some)
    return (
        f"{safe:,} of {len(some):,} examples keep their label whatever single symbol is "
        "substituted, inserted or deleted (exact, by a search in the proved automaton)."
    )


def _agreement(reading: Extraction, given: str) -> str:
    same = reading.fidelity
    text = (
        f"The automaton gives the network's answer on {same.given_same:,} of {same.given_total:,} "
        f"{given}"
    )
    if same.drawn_total:
        text += (
            f", and on {same.drawn_same:,} of {same.drawn_total:,} sequences drawn from the "
            f"automaton, with up to {same.longest:,} symbols"
        )
    return text + "."


def _compared(reading: Extraction) -> str:
    if reading.disagreement is not None:
        return "They differ on this sequence, the shortest " + (
            "there is:" if reading.shortest else "that was found:"
        )
    if reading.exhaustive > 0:
        return (
            f"No sequence was found on which the two differ; all of up to {reading.exhaustive} "
            "symbols were tried."
        )
    return "No sequence was found on which the two differ."


def _disagreement(reading: Extraction) -> dict[str, Any] | None:
    if reading.disagreement is None or reading.answers is None:
        return None
    network, automaton = reading.answers
    return {
        "word": [as_json(symbol) for symbol in reading.disagreement],
        "text": _quoted(reading.disagreement),
        "network": as_text(network),
        "automaton": as_text(automaton),
    }


def _ambiguity(one: Ambiguity) -> str:
    examples = " and ".join(_quoted(word, 60) for word in one.examples)
    where = "at the end of a sequence" if one.symbol is None else f"on “{as_text(one.symbol)}”"
    return (
        f"In state {one.state}, {where}, the automaton moves to {as_text(one.next_state)} "
        f"({one.mass:.0%} of the network's weight), the network also to {as_text(one.rival)} "
        f"({one.rival_mass:.0%}); "
        f"see {examples}."
    )


def _quoted(word: Word, most: int = 200) -> str:
    """A word between quotes; of a long one the end, which is what matters to a state."""
    text = joint(word).join(map(as_text, word))
    return (
        f"“{text if len(text) <= most else '…' + text[-most:]}”"
        if len(word)
        else "the empty sequence"
    )
