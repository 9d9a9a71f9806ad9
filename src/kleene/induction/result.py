"""What induction found: an automaton, others that explain the same rows, and words that decide.

Rows of long sequences often fit many rules. The alternatives are the other candidates of the
search, the products of features that it did not choose, and their variants: the same product with
one feature replaced by another that agrees with it on all rows. Each makes about as few errors as
the automaton that was chosen.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np

from kleene.automata import DFA
from kleene.induction.evidence import Evidence
from kleene.induction.patterns import patterns
from kleene.induction.search import Budget, Search, Table, table_bits
from kleene.machine import Word

MAX_ALTERNATIVES = 24
VARIANTS = 12
"""Features that replace each feature of a product."""
LOOK_UPS = 1e9
"""The limit of the search for alternatives: below ten seconds on one core."""
MAX_PAIRS = 300
"""Pairs of automata that are compared for questions."""


@dataclass(frozen=True, kw_only=True)
class Induction:
    """A small automaton that explains labelled sequences.

    `held_out_errors` are those of the automaton on rows that the search did not see; the rows are
    added afterwards, for a last refinement. `training_errors` are those on all rows.
    """

    dfa: DFA
    description_length: float
    """Bits of the automaton and of the labels, given the automaton."""
    training_errors: int
    held_out_errors: int | None
    held_out_rows: int
    method: str
    """The part of the search that found it: merges, patterns, majority (one state)."""
    seconds: float
    """CPU seconds of the search, compilation left out."""
    work: float
    """The same by the number of look-ups, on an ordinary core: equal for equal seeds."""
    stopped_early: bool
    """Whether the search stopped because its budget was spent."""
    seed: int
    max_states: int | None = None
    evidence: Evidence = field(repr=False)
    """All rows."""
    tables: tuple[Table, ...] = field(repr=False)
    """The tables of all candidates."""

    @cached_property
    def alternatives(self) -> tuple[DFA, ...]:
        """Other minimal automata that explain the rows as well, the shortest descriptions first.

        They are searched for at first use.
        """
        budget = Budget(look_ups=LOOK_UPS)
        search = Search(self.evidence, budget)
        known, most = {_key(self.dfa.minimize())}, search.errors_of(self.dfa)
        most += int(sqrt(most))
        described = [(search.dfa(search.judge(t)), table_bits(t)) for t in self.tables]
        described += [
            (pattern.dfa.minimize(), pattern.bits)
            for pattern in patterns(self.evidence, budget, seed=self.seed, variants=VARIANTS)
        ]
        found: list[tuple[float, DFA]] = []
        for other, bits in described:
            too_large = self.max_states is not None and other.num_states > self.max_states
            if _key(other) not in known and not too_large and search.errors_of(other) <= most:
                known.add(_key(other))
                found.append((bits, other))
        found.sort(key=lambda pair: pair[0])
        return tuple(other for _, other in found[:MAX_ALTERNATIVES])

    def questions(self, n: int = 5) -> list[Word]:
        """Up to `n` words whose labels would decide among the automaton and its alternatives.

        Label them, add them to the rows and induce again. There are none where no other automaton
        explains the rows.
        """
        return questions((self.dfa, *self.alternatives), n)

    @property
    def origin(self) -> str:
        """How it was made from the rows."""
        return f"{'merged' if self.method == 'merges' else 'grown'} from the data"

    @property
    def rows(self) -> int:
        """How many rows there were, repeats counted."""
        return self.evidence.rows

    @property
    def accuracy(self) -> float:
        """The share of all rows that the automaton labels correctly."""
        return 1 - self.training_errors / max(self.rows, 1)

    @property
    def held_out_accuracy(self) -> float | None:
        """The share of the held-out rows that it labels correctly; None without such rows."""
        if self.held_out_errors is None:
            return None
        return 1 - self.held_out_errors / self.held_out_rows

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, the automaton as its JSON document."""
        others = ("dfa", "max_states", "evidence", "tables", "alternatives")
        return {
            "states": self.dfa.num_states,
            "origin": self.origin,
            "rows": self.rows,
            "distinct_rows": self.evidence.num_words,
            **{name: value for name, value in vars(self).items() if name not in others},
            "accuracy": self.accuracy,
            "held_out_accuracy": self.held_out_accuracy,
            "dfa": json.loads(self.dfa.to_json()),
        }

    def __str__(self) -> str:
        held_out = stopped = ""
        if self.held_out_errors is not None:
            held_out = (
                f"wrong on {self.held_out_errors:,} of {self.held_out_rows:,} rows that the search "
                "did not see\n"
            )
        if self.stopped_early:
            stopped = ", stopped by its budget"
        return (
            f"{self.dfa.num_states}-state automaton over {len(self.dfa.alphabet)} symbols, "
            f"{self.origin} ({self.method})\n"
            f"wrong on {self.training_errors:,} of {self.rows:,} rows "
            f"({self.evidence.num_words:,} distinct)\n"
            f"{held_out}description length {self.description_length:,.0f} bits, "
            f"{self.seconds:.1f} CPU seconds{stopped}"
        )


def questions(automata: Sequence[DFA], count: int) -> list[Word]:
    """Up to `count` words, short ones first, whose labels tell the automata apart.

    The words are shortest differences between two of the automata. Each next word divides the
    automata that gave equal answers so far into groups as small as possible.
    """
    pairs = list(combinations(automata, 2))[:MAX_PAIRS]
    words = list(dict.fromkeys(w for a, b in pairs if (w := a.difference(b)) is not None))
    labels = {label: i for i, label in enumerate({x for dfa in automata for x in dfa.outputs})}
    answers = np.array([[labels[dfa.run(word)] for dfa in automata] for word in words])
    group = np.zeros(len(automata), dtype=np.int64)
    chosen: list[int] = []
    while len(chosen) < min(count, len(words)):
        left = [i for i in range(len(words)) if i not in chosen]
        groups = {i: group * len(labels) + answers[i] for i in left}
        equal = {i: (np.unique(groups[i], return_counts=True)[1] ** 2).sum() for i in left}
        best = min(left, key=lambda i: (equal[i], len(words[i]), i))
        chosen.append(best)
        group = np.unique(groups[best], return_inverse=True)[1]
    return [words[i] for i in sorted(chosen, key=lambda i: (len(words[i]), i))]


def _key(dfa: DFA) -> tuple[object, ...]:
    """A value that minimal automata of one language over the same symbols share."""
    return dfa.transitions.tobytes(), dfa.outputs
