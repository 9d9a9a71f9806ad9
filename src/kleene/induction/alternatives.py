"""Other automata that explain the same rows, and the words that would decide among them.

Rows of long sequences often fit many rules. The alternatives are the other candidates of the
search, the products of features that it did not choose, and their variants: the same product with
one feature replaced by another that agrees with it on all rows. Each makes about as few errors as
the automaton that was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Explanations:
    """All rows, the tables that a search found in them, and its settings."""

    evidence: Evidence
    tables: tuple[Table, ...]
    max_states: int | None
    seed: int

    def alternatives(self, dfa: DFA) -> tuple[DFA, ...]:
        """Minimal automata of other languages that explain the rows as well as `dfa` does.

        Shorter descriptions come first.
        """
        budget = Budget(look_ups=LOOK_UPS)
        search = Search(self.evidence, budget)
        known, most = {_key(dfa.minimize())}, search.errors_of(dfa)
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
        equal = {i: _equal_pairs(groups[i]) for i in left}
        best = min(left, key=lambda i: (equal[i], len(words[i]), i))
        chosen.append(best)
        group = np.unique(groups[best], return_inverse=True)[1]
    return [words[i] for i in sorted(chosen, key=lambda i: (len(words[i]), i))]


def _equal_pairs(group: np.ndarray) -> int:
    """How many pairs are in the same group."""
    return int((np.unique(group, return_counts=True)[1] ** 2).sum())


def _key(dfa: DFA) -> tuple[object, ...]:
    """A value that minimal automata of one language over the same symbols share."""
    return dfa.transitions.tobytes(), dfa.outputs
