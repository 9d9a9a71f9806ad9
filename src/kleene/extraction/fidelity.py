"""How far an automaton agrees with its network: fidelity, ambiguities and a disagreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kleene.arrays import Ints
from kleene.automata import DFA
from kleene.data.alphabet import Ids
from kleene.evaluation.percent import percent
from kleene.extraction.words import Oracle, Target, draw_from, run_table, table_of, usual_length
from kleene.passes.prefixes import Prefixes

TIMES_LONGER = 10
MAX_DRAWN_WORDS = 400  # words drawn from the automaton
MAX_DRAWN_SYMBOLS = 60_000  # symbols of these words together


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """How many words the automaton and the soft network give the same label.

    `given` words come from the user, or are random if there are none. `drawn` words of every label
    are drawn from the automaton itself, up to ten times as long as the training words. Of a network
    from elsewhere, `given` words are held out and `drawn` words are random.
    """

    given_same: int
    given_total: int
    drawn_same: int
    drawn_total: int
    longest: int
    """The length of the longest drawn word."""
    kinds: tuple[str, str] = ("given words", "words drawn from the automaton")
    """What the given and the drawn words are."""

    @property
    def given(self) -> float:
        """The share of the given words on which the two agree."""
        return self.given_same / self.given_total if self.given_total else 1.0

    @property
    def drawn(self) -> float:
        """The share of the drawn words on which the two agree."""
        return self.drawn_same / self.drawn_total if self.drawn_total else 1.0

    @property
    def overall(self) -> float:
        """The share of all words on which the two agree."""
        total = self.given_total + self.drawn_total
        return (self.given_same + self.drawn_same) / total if total else 1.0

    def __float__(self) -> float:
        return self.overall

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "overall": self.overall,
            "given": {"share": self.given, "same": self.given_same, "words": self.given_total},
            "drawn": {"share": self.drawn, "same": self.drawn_same, "words": self.drawn_total}
            | {"longest": self.longest},
        }

    def __str__(self) -> str:
        given, drawn = self.kinds
        first = f"{percent(self.given)} of {self.given_total:,} {given} and "
        return (first if self.given_total else "") + (
            f"{percent(self.drawn)} of {self.drawn_total:,} {drawn}, "
            f"of up to {self.longest:,} symbols"
        )


def measure_fidelity(
    model: Target, dfa: DFA, oracle: Oracle, given: Sequence[Ids], drawn: Sequence[Ids]
) -> Fidelity:
    """Compare automaton and network on given words and drawn words."""
    same = [oracle(words) == run_ids(model, dfa, words) for words in (given, drawn)]
    return Fidelity(
        given_same=int(same[0].sum()),
        given_total=len(given),
        drawn_same=int(same[1].sum()),
        drawn_total=len(drawn),
        longest=max((len(word) for word in drawn), default=0),
    )


def draw_checks(model: Target, dfa: DFA, given: Sequence[Ids], seed: int) -> list[Ids]:
    """Words drawn from the automaton: half of usual lengths, half up to ten times as long."""
    usual, symbols = usual_length(model, given), model.alphabet.symbols
    random = np.random.default_rng(seed)
    n = int(np.clip(MAX_DRAWN_SYMBOLS / (usual * (1 + TIMES_LONGER) / 4), 20, MAX_DRAWN_WORDS)) // 2
    return [
        word
        for longest in (usual, usual * TIMES_LONGER)
        for word in draw_from(dfa, random, n, longest, symbols)
    ]


def run_ids(model: Target, dfa: DFA, words: Sequence[Ids]) -> Ints:
    """The class of every word by the automaton; -1 for a label that the model does not have."""
    states = run_table(table_of(dfa, model.alphabet.symbols), dfa.initial, words)
    return _output_classes(model, dfa)[states[:, -1]]


def prefix_labels(model: Target, dfa: DFA, prefixes: Prefixes) -> Ints:
    """The class of every recorded prefix by the automaton."""
    states = run_table(table_of(dfa, model.alphabet.symbols), dfa.initial, prefixes.words)
    return _output_classes(model, dfa)[states[prefixes.word, prefixes.time]]


def _output_classes(model: Target, dfa: DFA) -> Ints:
    """The class of every state of an automaton."""
    return np.array([model.class_ids.get(label, -1) for label in dfa.outputs], dtype=np.int64)
