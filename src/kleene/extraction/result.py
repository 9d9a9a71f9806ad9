"""What an extraction returns: the automaton, and everything that says how far to trust it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from typing import Any, Protocol

from kleene.automata import DFA, PFA
from kleene.automata.symbols import show_word
from kleene.extraction.checks.ambiguity import Ambiguity
from kleene.extraction.checks.fidelity import Fidelity
from kleene.extraction.counter.read import CounterReading
from kleene.machine import Label, Symbol, Word
from kleene.model import Model

_DRAWN = 60  # states, beyond which a notebook shows no drawing


class Proof(Protocol):
    """A certificate of `kleene.proof`, as readers of an extraction use it."""

    @property
    def at_running_temperature(self) -> bool:
        """Whether it holds at the temperature that the network runs with."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Extraction:
    """An automaton read off a network, checked against that network.

    It is `faithful` when no word was found on which the two differ. Only a `certificate` says that
    there is none.
    """

    dfa: DFA
    """The minimal automaton."""
    raw: DFA
    """The automaton before minimisation; its states are named after the centroids."""
    pfa: PFA | None
    """Probabilities of the raw automaton's steps, where the method has them."""
    states_in_use: int
    """How many states the network was seen to use."""
    fidelity: Fidelity
    ambiguities: tuple[Ambiguity, ...]
    disagreement: Word | None
    """A shortest word found on which the soft network and `dfa` differ."""
    answers: tuple[Label, Label] | None
    """On that word, the label of the network and the label of the automaton."""
    exhaustive: int
    """The length up to which every word was compared."""
    unseen: tuple[tuple[str, Symbol], ...]
    """States and symbols that no word showed together; the raw automaton goes to its sink."""
    method: str
    """What the automaton comes from: table, counts, mean, split, kmeans or lstar."""
    steps: tuple[str, ...]
    """What was done, in words."""
    queries: int
    """How many words the network was run on, all checks included."""
    seconds: float
    model: Model = field(repr=False)
    """The model that was read: the one given, or its sharpened copy."""
    certificate: Proof | None = None
    """The proof for all words, where `kleene.proof.certify` found one."""
    refusal: str | None = None
    """Why there is no certificate, where one was tried for."""
    counter: CounterReading | None = None
    """The counter machine in the memory of an LSTM, where the method looked for one."""

    @property
    def faithful(self) -> bool:
        """Whether no difference between automaton and network was found."""
        return self.disagreement is None and self.fidelity.overall == 1

    @property
    def shortest(self) -> bool:
        """Whether no word shorter than `disagreement` can do, all of them having been tried."""
        return self.disagreement is not None and len(self.disagreement) <= self.exhaustive + 1

    def doubt(self) -> str:
        """In a few words, what speaks against the automaton."""
        if self.disagreement is not None:
            return (
                f"differs on {show_word(self.disagreement)}, fidelity {self.fidelity.overall:.2%}"
            )
        return f"fidelity {self.fidelity.overall:.2%}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        certificate, counter = self.certificate, self.counter
        return {
            "method": self.method,
            "faithful": self.faithful,
            "fidelity": self.fidelity.to_dict(),
            "disagreement": self._disagreement_dict(),
            "exhaustive": self.exhaustive,
            "states": self.dfa.num_states,
            "states_in_use": self.states_in_use,
            "raw_states": self.raw.num_states,
            "ambiguities": [one.to_dict() for one in self.ambiguities],
            "unseen": [list(pair) for pair in self.unseen],
            "certificate": None if certificate is None else certificate.to_dict(),
            "refusal": self.refusal,
            "counter": None if counter is None else counter.to_dict(),
            "steps": list(self.steps),
            "queries": self.queries,
            "seconds": self.seconds,
            "dfa": json.loads(self.dfa.to_json()),
            "raw": json.loads(self.raw.to_json()),
        }

    def _disagreement_dict(self) -> dict[str, Any] | None:
        if self.disagreement is None or self.answers is None:
            return None
        word = self.disagreement if isinstance(self.disagreement, str) else [*self.disagreement]
        network, automaton = self.answers
        return {
            "word": word,
            "network": network,
            "automaton": automaton,
            "shortest": self.shortest,
        }

    def facts(self) -> dict[str, str]:
        """What a person wants to know first, as text."""
        facts = {
            "automaton": f"{_states(self.dfa.num_states)}, from {self.states_in_use} in use",
            "method": self.method,
            "fidelity": str(self.fidelity),
            "disagreement": self._disagreement_text(),
            "ambiguous": self._ambiguous_text(),
            "certificate": self._certificate_text(),
            "effort": f"{self.queries:,} words run, {self.seconds:.2f} s",
            "done": "; ".join(self.steps),
        }
        if self.counter is not None:
            facts["counter"] = str(self.counter)
        if self.unseen:
            facts["never seen"] = f"{len(self.unseen)} pairs of state and symbol, led to a sink"
        return facts

    def _certificate_text(self) -> str:
        if self.certificate is not None:
            return str(self.certificate)
        return "none" if self.refusal is None else f"none: {self.refusal}"

    def _ambiguous_text(self) -> str:
        if not self.ambiguities:
            return "no ambiguous transitions"
        matter = sum(one.matters for one in self.ambiguities)
        return f"{len(self.ambiguities)} transitions, of which {matter} can change a label"

    def _disagreement_text(self) -> str:
        if self.disagreement is None or self.answers is None:
            return f"none found; all words up to length {self.exhaustive} compared"
        kind = "a shortest word" if self.shortest else "shortest found"
        network, automaton = self.answers
        return f"{show_word(self.disagreement)} ({kind}): network {network}, automaton {automaton}"

    def __str__(self) -> str:
        facts = self.facts()
        width = max(map(len, facts))
        lines = [f"{name:<{width}}  {fact}" for name, fact in facts.items()]
        return "\n".join([*lines, *(f"  {one}" for one in self.ambiguities[:3] if one.matters)])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(fact)}</td></tr>"
            for name, fact in self.facts().items()
        )
        drawing = self.dfa._repr_svg_() if self.dfa.num_states <= _DRAWN else ""
        return f"<div>{drawing[max(drawing.find('<svg'), 0) :]}<table>{rows}</table></div>"


def _states(n: int) -> str:
    return f"{n} state" if n == 1 else f"{n} states"
