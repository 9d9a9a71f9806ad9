"""Ambiguous transitions: the soft network does not always take them.

A mixture can hide a bit in its weights: two prefixes share their most probable state and yet go
different ways on the same symbol. An automaton keeps only one of the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kleene.arrays import Ints
from kleene.automata import DFA
from kleene.automata.minimize import equivalence_classes
from kleene.automata.symbols import show_word
from kleene.extraction.counts import (
    TransitionCounts,
    count_transitions,
    mean_probabilities,
    step_pairs,
)
from kleene.extraction.words import spell_ids
from kleene.machine import Label, Symbol, Word
from kleene.model import Model
from kleene.passes.prefixes import UNLABELLED, StatePaths

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
        words = [word if isinstance(word, str) else list(word) for word in self.examples]
        return asdict(self) | {"examples": words}

    def __str__(self) -> str:
        where = "at its end" if self.symbol is None else f"on {self.symbol!r}"
        examples = " and ".join(map(show_word, self.examples))
        return (
            f"state {self.state} {where}: {self.next_state} ({self.mass:.2f}) or "
            f"{self.rival} ({self.rival_mass:.2f}), see {examples}"
        )


def find_ambiguities(model: Model, paths: StatePaths, raw: DFA) -> tuple[Ambiguity, ...]:
    """All ambiguities: those that matter first, then by competing mass."""
    counts = count_transitions(paths)
    found = [*_of_steps(model, counts, raw), *_of_outputs(model, counts)]
    return tuple(sorted(found, key=lambda one: (not one.matters, -one.rival_mass)))


def _of_steps(model: Model, counts: TransitionCounts, raw: DFA) -> Iterator[Ambiguity]:
    paths, pairs = counts.paths, counts.pairs
    names, steps = paths.names, paths.prefixes.steps
    kinds = {raw.name(i): kind for i, kind in enumerate(equivalence_classes(raw).tolist())}
    shares, ahead = mean_probabilities(paths), _kept(counts, raw)
    ways = _first(paths, step_pairs(paths)[1], paths.states[steps], steps)
    others = shares.copy()
    for pair, after in ways:
        others[pair, after] += 1  # a way that was taken comes before mass alone
    others[np.arange(len(pairs)), ahead] = -1
    rivals = others.argmax(axis=1)
    for row, (state, column) in enumerate(pairs.tolist()):
        two = (int(ahead[row]), int(rivals[row]))
        mass, rival_mass = shares[row, two].tolist()
        if two[0] == two[1] or ((row, two[1]) not in ways and rival_mass < MIN_RIVAL_MASS):
            continue
        taken = [ways[row, after] - 1 for after in two if (row, after) in ways]
        ends = [kinds.get(names[after]) for after in two]
        yield Ambiguity(
            state=names[state],
            symbol=model.alphabet.symbols[column],
            next_state=names[two[0]],
            mass=mass,
            rival=names[two[1]],
            rival_mass=rival_mass,
            examples=tuple(spell_ids(model, paths.prefixes.prefix(entry)) for entry in taken),
            matters=None in ends or ends[0] != ends[1],
        )


def _of_outputs(model: Model, counts: TransitionCounts) -> Iterator[Ambiguity]:
    paths, prefixes = counts.paths, counts.paths.prefixes
    labelled = np.flatnonzero(prefixes.labels != UNLABELLED)
    first = _first(paths, paths.states[labelled], prefixes.labels[labelled], labelled)
    for state in np.flatnonzero((counts.votes > 0).sum(axis=1) > 1).tolist():
        share = counts.votes[state] / counts.votes[state].sum()
        two = np.argsort(-share, kind="stable")[:2].tolist()
        yield Ambiguity(
            state=paths.names[state],
            symbol=None,
            next_state=model.classes[two[0]],
            mass=float(share[two[0]]),
            rival=model.classes[two[1]],
            rival_mass=float(share[two[1]]),
            examples=tuple(spell_ids(model, prefixes.prefix(first[state, i])) for i in two),
            matters=True,
        )


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


def _first(
    paths: StatePaths, cases: Ints, outcomes: Ints, entries: Ints
) -> dict[tuple[int, int], int]:
    """For each case and each outcome it had, the entry of a shortest prefix that shows it."""
    order = np.argsort(paths.prefixes.time[entries], kind="stable")
    both = np.stack([cases, outcomes], axis=1)[order]
    found, first = np.unique(both, axis=0, return_index=True)
    shown = zip(found.tolist(), entries[order][first].tolist(), strict=True)
    return {(case, outcome): entry for (case, outcome), entry in shown}
