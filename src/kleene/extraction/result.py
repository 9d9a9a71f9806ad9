"""The result of an extraction: the automaton, and how far to trust it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from typing import Any, Protocol

from kleene.automata import DFA, PFA
from kleene.automata.symbols import show_word
from kleene.evaluation.percent import percent
from kleene.extraction.ambiguity import Ambiguity
from kleene.extraction.counter.extract import MemoryCounter
from kleene.extraction.fidelity import Fidelity
from kleene.extraction.front import Front, FrontPoint
from kleene.machine import Label, Symbol, Word
from kleene.model import Model

MAX_DRAWN = 60  # states; a notebook draws no larger automaton


class Proof(Protocol):
    """A certificate of `kleene.proof`, as readers of an extraction use it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Extraction:
    """An automaton extracted from a network, and checked against that network.

    It is `faithful` if no word was found on which the two differ. Only a `certificate` says that
    there is no such word.
    """

    dfa: DFA
    """The minimal automaton."""
    raw: DFA
    """The automaton before minimisation; its states are named after the centroids."""
    pfa: PFA | None = None
    """Probabilities of the raw automaton's steps, if the method has them."""
    states_in_use: int
    """How many states the network was seen to use."""
    fidelity: Fidelity
    ambiguities: tuple[Ambiguity, ...] = ()
    disagreement: Word | None
    """A shortest word found on which the soft network and `dfa` differ."""
    answers: tuple[Label, Label] | None
    """On that word, the label of the network and the label of the automaton."""
    exhaustive: int
    """The length up to which every word was compared."""
    unseen: tuple[tuple[str, Symbol], ...] = ()
    """States and symbols that no word showed together; the raw automaton goes to its sink."""
    method: str
    """The origin of the automaton: table, counts, lstar and so on."""
    steps: tuple[str, ...]
    """The steps of the extraction, in words."""
    queries: int
    """How many words the network was run on, all checks included."""
    seconds: float = 0.0
    model: Model | None = field(default=None, repr=False)
    """The model, if Kleene trained the network."""
    certificate: Proof | None = None
    """The proof for all words, if `kleene.proof.certify` found one."""
    refusal: str | None = None
    """Why there is no certificate, if a proof was tried."""
    counter: MemoryCounter | None = None
    """The counter machine in the memory of an LSTM, if the method looked for one."""
    front: Front | None = None
    """Size against error of the automata of active learning, the smallest first."""
    chosen: FrontPoint | None = None
    """For a network from elsewhere: the smallest point within one standard error of the best."""

    @property
    def faithful(self) -> bool:
        """Whether no difference between automaton and network was found."""
        return self.disagreement is None and self.fidelity.overall == 1

    @property
    def shortest(self) -> bool:
        """Whether no word shorter than `disagreement` can do, all of them having been tried."""
        return self.disagreement is not None and len(self.disagreement) <= self.exhaustive + 1

    def doubt(self) -> str:
        """Why the automaton is not faithful, in a few words."""
        fidelity = f"fidelity {percent(self.fidelity.overall)}"
        if self.disagreement is None:
            return fidelity
        return f"differs on {show_word(self.disagreement)}, {fidelity}"

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
            **self._front_dict(),
        }

    def _front_dict(self) -> dict[str, Any]:
        chosen = {} if self.chosen is None else self.chosen.to_dict()
        return chosen | {"front": self.front and [point.to_dict() for point in self.front]}

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

    def facts(self, *, verbose: bool = False) -> dict[str, str]:
        """The first things to know, as text; `verbose` has all details of the proof."""
        facts = {
            "automaton": _states(self.dfa.num_states),
            "method": self.method,
            "fidelity": str(self.fidelity),
            "disagreement": self._disagreement_text(),
        }
        if self.model is not None:
            facts["automaton"] += f", from {self.states_in_use} in use"
            facts["ambiguous"] = self._ambiguous_text()
            facts["certificate"] = self._certificate_text(verbose)
        facts["effort"] = f"{self.queries:,} words run, {self.seconds:.2f} s"
        facts["done"] = "; ".join(self.steps)
        if self.counter is not None:
            facts["counter"] = str(self.counter)
        if self.unseen:
            facts["never seen"] = f"{len(self.unseen)} pairs of state and symbol, led to a sink"
        return facts

    def _certificate_text(self, verbose: bool) -> str:
        if self.certificate is not None and verbose:
            return str(self.certificate)
        if self.certificate is not None:
            return "proved: the network gives the automaton's label to every sequence"
        return "none" if self.refusal is None else f"none: {self.refusal}"

    def _ambiguous_text(self) -> str:
        if not self.ambiguities:
            return "no ambiguous transitions"
        matter = sum(one.matters for one in self.ambiguities)
        return f"{len(self.ambiguities)} transitions; {matter} of them can change a label"

    def _disagreement_text(self) -> str:
        if self.disagreement is None or self.answers is None:
            return f"none found; all words up to length {self.exhaustive} compared"
        kind = "a shortest word" if self.shortest else "shortest found"
        network, automaton = self.answers
        return f"{show_word(self.disagreement)} ({kind}): network {network}, automaton {automaton}"

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, *, verbose: bool = False) -> str:
        """The facts, one a line, and the first ambiguities that matter."""
        facts = self.facts(verbose=verbose)
        width = max(map(len, facts))
        lines = [f"{name:<{width}}  {fact}" for name, fact in facts.items()]
        return "\n".join([*lines, *(f"  {one}" for one in self.ambiguities[:3] if one.matters)])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(fact)}</td></tr>"
            for name, fact in self.facts().items()
        )
        drawing = self.dfa._repr_svg_() if self.dfa.num_states <= MAX_DRAWN else ""
        return f"<div>{drawing[max(drawing.find('<svg'), 0) :]}<table>{rows}</table></div>"


def _states(n: int) -> str:
    return f"{n} state" if n == 1 else f"{n} states"
