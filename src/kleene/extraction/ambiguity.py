"""Ambiguous transitions: the soft network does not always take them.

A mixture can hide a bit in its weights: two prefixes share their most probable state and yet go
different ways on the same symbol. An automaton keeps only one of the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kleene.arrays import Ints
from kleene.automata import DFA
from kleene.automata.minimize import equivalence_classes
from kleene.automata.symbols import show_word
from kleene.extraction.counts import (
    TransitionCounts,
    count_transitions,
    soft_count_transitions,
    step_pairs,
)
from kleene.extraction.prefixes import UNLABELLED, StatePaths
from kleene.extraction.words import spell_ids
from kleene.machine import Label, Symbol, Word
from kleene.model import Model

MIN_RIVAL_MASS = 0.25
"""A transition that always went the same way is reported from this competing mass on."""


@dataclass(frozen=True, kw_only=True)
class Ambiguity:
    """A state and a symbol after which two states compete.

    If the output of the state is ambiguous, `symbol` is None, and `next_state` and `rival` are
    labels.
    """

    state: str
    symbol: Symbol | None
    next_state: str | Label
    mass: float
    rival: str | Label
    rival_mass: float
    examples: tuple[Word, ...]
    """Shortest prefixes that lead to the state: one that goes on to `next_state` and, if the words
    had one, one that goes on to `rival`."""
    matters: bool
    """Whether the two are not equivalent, so that the choice can change a label."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "state": self.state,
            "symbol": self.symbol,
            "next_state": self.next_state,
            "mass": self.mass,
            "rival": self.rival,
            "rival_mass": self.rival_mass,
            "examples": [word if isinstance(word, str) else list(word) for word in self.examples],
            "matters": self.matters,
        }

    def __str__(self) -> str:
        where = "at its end" if self.symbol is None else f"on {self.symbol!r}"
        examples = " and ".join(map(show_word, self.examples))
        return (
            f"state {self.state} {where}: {self.next_state} ({self.mass:.2f}) or "
            f"{self.rival} ({self.rival_mass:.2f}), see {examples}"
        )


def find_ambiguities(model: Model, paths: StatePaths, raw: DFA) -> tuple[Ambiguity, ...]:
    """All ambiguities: those that matter first, then by competing mass."""
    found = [*_of_steps(model, paths, raw), *_of_outputs(model, paths)]
    return tuple(sorted(found, key=lambda one: (not one.matters, -one.rival_mass)))


def _of_steps(model: Model, paths: StatePaths, raw: DFA) -> list[Ambiguity]:
    kinds = {raw.name(i): kind for i, kind in enumerate(equivalence_classes(raw).tolist())}
    names = paths.names
    counts, shares = count_transitions(paths), soft_count_transitions(paths).shares
    assert shares is not None
    pairs, ahead = counts.pairs, _kept(counts, raw)
    ways = _first_steps(paths)
    others = shares.copy()
    for pair, after in ways:
        others[pair, after] += 1  # a way that was taken comes before mass alone
    others[np.arange(len(pairs)), ahead] = -1
    rivals = others.argmax(axis=1)
    found = []
    for row, (state, column) in enumerate(pairs.tolist()):
        two = (int(ahead[row]), int(rivals[row]))
        taken = [ways[row, after] for after in two if (row, after) in ways]
        mass, rival_mass = shares[row, two].tolist()
        if two[0] == two[1] or ((row, two[1]) not in ways and rival_mass < MIN_RIVAL_MASS):
            continue
        ends = [kinds.get(names[after]) for after in two]
        found.append(
            Ambiguity(
                state=names[state],
                symbol=model.alphabet.symbols[column],
                next_state=names[two[0]],
                mass=mass,
                rival=names[two[1]],
                rival_mass=rival_mass,
                examples=tuple(spell_ids(model, paths.prefixes.prefix(step - 1)) for step in taken),
                matters=None in ends or ends[0] != ends[1],
            )
        )
    return found


def _of_outputs(model: Model, paths: StatePaths) -> list[Ambiguity]:
    prefixes = paths.prefixes
    labelled = np.flatnonzero(prefixes.labels != UNLABELLED)
    labelled = labelled[np.argsort(prefixes.time[labelled], kind="stable")]
    width = len(model.classes)
    keys, first, counts = np.unique(
        paths.states[labelled] * width + prefixes.labels[labelled],
        return_index=True,
        return_counts=True,
    )
    votes = np.zeros((paths.num_states, width))
    example = np.zeros((paths.num_states, width), dtype=np.int64)
    votes.flat[keys], example.flat[keys] = counts, labelled[first]
    found = []
    for state in np.flatnonzero((votes > 0).sum(axis=1) > 1).tolist():
        ahead, rival = np.argsort(-votes[state], kind="stable")[:2].tolist()
        share = votes[state] / votes[state].sum()
        found.append(
            Ambiguity(
                state=paths.names[state],
                symbol=None,
                next_state=model.classes[ahead],
                mass=float(share[ahead]),
                rival=model.classes[rival],
                rival_mass=float(share[rival]),
                examples=tuple(
                    spell_ids(model, prefixes.prefix(int(example[state, label])))
                    for label in (ahead, rival)
                ),
                matters=True,
            )
        )
    return found


def _kept(counts: TransitionCounts, raw: DFA) -> Ints:
    """The automaton's successor of each pair, or else the most frequent one."""
    names = counts.paths.names
    index = {name: i for i, name in enumerate(names)}
    rows = {raw.name(state): row for state, row in enumerate(raw.rows)}
    kept = counts.best.copy()
    for i, (state, column) in enumerate(counts.pairs.tolist()):
        row = rows.get(names[state])
        if row is not None:
            kept[i] = index.get(raw.name(row[column]), kept[i])
    return kept


def _first_steps(paths: StatePaths) -> dict[tuple[int, int], int]:
    """For each pair and each successor it had, the entry of a shortest prefix that took it."""
    steps, (_, which) = paths.prefixes.steps, step_pairs(paths)
    shortest_first = np.argsort(paths.prefixes.time[steps], kind="stable")
    steps, which = steps[shortest_first], which[shortest_first]
    keys, first = np.unique(which * paths.num_states + paths.states[steps], return_index=True)
    ways = np.stack(np.divmod(keys, paths.num_states), axis=1).tolist()
    return {(p, after): e for (p, after), e in zip(ways, steps[first].tolist(), strict=True)}
