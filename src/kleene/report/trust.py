"""How far to trust what a report says of a model, in sentences that anybody can follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kleene.data.alphabet import UNKNOWN
from kleene.evaluation.metrics import logits
from kleene.evaluation.percent import percent
from kleene.explain.markup import as_json, as_text, joint
from kleene.extraction.ambiguity import Ambiguity
from kleene.extraction.result import Extraction
from kleene.machine import Word
from kleene.model import Model
from kleene.nn.classifier import adds_up
from kleene.nn.mode import HARD, OWN

MAX_AMBIGUITIES = 8  # that are listed
MAX_UNKNOWN = 0.05  # share of unknown symbols above which nothing is ticked
SUMMED = "The answer is the sum of what the states on the way weigh for each class."
SUMMED_DETAIL = (
    "Each state has a weight per class; the mean and the maximum of its probability over all steps "
    "are multiplied by it. The state at the end does not decide, so no automaton is compared with "
    "the network; the shares of all symbols add up to the logits."
)


def trust(
    model: Model, reading: Extraction, words: Sequence[Word] = (), *, own: bool = True
) -> dict[str, Any]:
    """Fidelity, ambiguities, a shortest disagreement and the proof, where there is one.

    A network whose answer is a sum over all steps is not compared with the automaton's last state.
    """
    warning = _unknown_symbols(model, words)
    if adds_up(model.network):
        return _summed(model, words, warning)
    proved = reading.certificate is not None
    matter = [one for one in reading.ambiguities if one.matters]
    return {
        "states": reading.dfa.num_states,
        "in_use": reading.states_in_use,
        "method": reading.method,
        "warning": warning,
        "faithful": reading.faithful,
        "fidelity": reading.fidelity.to_dict(),
        "agreement": _agreement(reading, "of the given examples" if own else "random sequences"),
        "disagreement": _disagreement(reading),
        "compared": _compared(reading),
        "ambiguities": [_ambiguity(one) for one in matter[:MAX_AMBIGUITIES]],
        "ambiguous": len(matter),
        "unseen": len(reading.unseen),
        "proved": proved,
        "proof": _proof(reading, proved),
        "detail": str(reading.certificate or reading.refusal or "") or None,
        "steps": list(reading.steps),
    }


def _unknown_symbols(model: Model, words: Sequence[Word]) -> str | None:
    """A warning where too many symbols of the words are not in the model's alphabet."""
    encoded = model.alphabet.encode_many(words) if model.reads_symbols else []
    total = sum(len(ids) for ids in encoded)
    share = sum(int((ids == UNKNOWN).sum()) for ids in encoded) / max(total, 1)
    if share <= MAX_UNKNOWN:
        return None
    return (
        f"{percent(share)} of the symbols in these examples are not in the model's alphabet. All "
        "statements below are about the known symbols only."
    )


def _summed(model: Model, words: Sequence[Word], warning: str | None) -> dict[str, Any]:
    """For networks with `pooling="states"`: how many answers need no mixture of states."""
    same, total = nearest_states(model, words), len(words)
    kept = (
        f"With every step in its nearest state instead of a mixture of states, {same:,} of "
        f"{total:,} examples keep their answer."
    )
    return {
        "faithful": False,
        "proved": False,
        "warning": warning,
        "summed": SUMMED,
        "detail": SUMMED_DETAIL,
        "nearest": {"same": same, "total": total, "text": kept} if total else None,
    }


def nearest_states(model: Model, words: Sequence[Word]) -> int:
    """How many words keep their class where every step takes its nearest centroid."""
    encoded = model.alphabet.encode_many(words)
    soft, hard = (logits(model.network, encoded, mode=mode).argmax(-1) for mode in (OWN, HARD))
    return int((soft == hard).sum())


def _proof(reading: Extraction, proved: bool) -> str:
    """One sentence; `detail` has the rest."""
    if proved and reading.dfa.num_states == 1:
        return f"Every sequence gets the answer {as_text(reading.dfa.outputs[0])}."
    if proved:
        return "Network and automaton give the same answer to every sequence of every length."
    if reading.certificate is not None:
        return "The proof is about another temperature than the one the network runs with."
    if not reading.faithful:
        return "There is no proof, since the two differ."
    if reading.refusal is None:
        return "No proof was tried, since the automaton is large; `kleene certify` tries one."
    return "A proof was tried and not found."


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
        kind = "there is:" if reading.shortest else "that was found:"
        return f"They differ on this sequence, the shortest {kind}"
    if reading.exhaustive > 0:
        return f"All sequences of up to {reading.exhaustive} symbols were compared."
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
        f"({percent(one.mass)} of the network's weight), the network also to "
        f"{as_text(one.rival)} ({percent(one.rival_mass)}); see {examples}."
    )


def _quoted(word: Word, width: int = 200) -> str:
    """A word between quotes; of a long word the end, which is what matters to a state."""
    if not len(word):
        return "the empty sequence"
    text = joint(word).join(map(as_text, word))
    return f"“{text if len(text) <= width else '…' + text[-width:]}”"
