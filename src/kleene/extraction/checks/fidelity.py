"""How far an automaton agrees with the soft network it was read from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kleene.arrays import Ints
from kleene.automata import DFA
from kleene.data.alphabet import Ids
from kleene.extraction.oracle import Oracle
from kleene.extraction.target import Target
from kleene.extraction.transitions.prefixes import UNLABELLED, Prefixes
from kleene.extraction.words import (
    draw_from,
    encode_words,
    run_table,
    table_of,
    usual_length,
)
from kleene.model import Model

TIMES_LONGER = 10
_DRAWN = 400  # words drawn from the automaton,
_SYMBOLS = 60_000  # of so many symbols in all, so that long words do not take long


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """How many words the automaton and the soft network give the same label.

    `given` are the words of the user (or random ones, where none came); `drawn` are words of every
    label drawn from the automaton itself, up to ten times as long as the training words.
    """

    given_same: int
    given_total: int
    drawn_same: int
    drawn_total: int
    longest: int
    """The length of the longest word drawn."""
    given_is_random: bool = False
    """Whether the words of the first kind were drawn at random, since the user gave none."""

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
        first = "random" if self.given_is_random else "given"
        return (
            f"{_percent(self.given)} of {self.given_total:,} {first} words and "
            f"{_percent(self.drawn)} of {self.drawn_total:,} words drawn from the automaton, "
            f"of up to {self.longest:,} symbols"
        )


def fidelity(
    model: Model, dfa: DFA, words: Iterable[Any] | None = None, *, seed: int = 0
) -> Fidelity:
    """How far any automaton agrees with a model, on given words and on words drawn from it."""
    given = [] if words is None else encode_words(model, words)
    oracle = Oracle.of(model)
    drawn = draw_checks(model, dfa, given, seed)
    return compare(model, dfa, oracle, given, drawn)


def compare(
    model: Target, dfa: DFA, oracle: Oracle, given: Sequence[Ids], drawn: Sequence[Ids]
) -> Fidelity:
    """The same, for words that are encoded and drawn already."""
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
    n = int(np.clip(_SYMBOLS / (usual * (1 + TIMES_LONGER) / 4), 20, _DRAWN)) // 2
    return [
        word
        for longest in (usual, usual * TIMES_LONGER)
        for word in draw_from(dfa, random, n, longest, symbols)
    ]


def run_ids(model: Target, dfa: DFA, words: Sequence[Ids]) -> Ints:
    """The class of every word by the automaton; -1 for a label that the model does not have."""
    states = run_table(table_of(dfa, model.alphabet.symbols), dfa.initial, words)
    return class_ids(model, dfa)[states[:, -1]]


def prefix_labels(model: Target, dfa: DFA, prefixes: Prefixes) -> Ints:
    """The class of every recorded prefix by the automaton."""
    states = run_table(table_of(dfa, model.alphabet.symbols), dfa.initial, prefixes.words)
    return class_ids(model, dfa)[states[prefixes.word, prefixes.time]]


def prefix_agreement(model: Target, dfa: DFA, prefixes: Prefixes) -> float:
    """The share of recorded prefixes on which automaton and network agree."""
    labelled = prefixes.labels != UNLABELLED
    return float((prefix_labels(model, dfa, prefixes) == prefixes.labels)[labelled].mean())


def class_ids(model: Target, dfa: DFA) -> Ints:
    """The class of every state of an automaton."""
    ids = {label: i for i, label in enumerate(model.classes)}
    return np.array([ids.get(label, -1) for label in dfa.outputs], dtype=np.int64)


def _percent(share: float) -> str:
    return "100%" if share == 1 else f"{min(share, 0.9999):.2%}"
