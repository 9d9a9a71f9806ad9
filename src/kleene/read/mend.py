"""Mend a machine against labelled words, and prefer the smaller one.

A table read off a network may be nearly right: a wrong target here, two states for one there. The
search below changes one transition at a time, merges states and splits them, and keeps whatever
shortens the description of machine and errors together:

    bits = states * symbols * log2(states) + errors * (log2(words) + 1)

so that a state must explain more words than it costs. Labels of states are always the majority of
the words that end there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.machine import Label, Word

Ints = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Labelled words as flat arrays, each distinct word once with its counts per class."""

    alphabet: tuple[object, ...]
    classes: tuple[Label, ...]
    symbols: Ints
    """Column of each symbol of all words, one word after the other."""
    ends: NDArray[np.int64]
    """Where each word ends in `symbols`."""
    counts: Ints
    """How often each word came with each class, (word, class)."""

    @classmethod
    def of(
        cls, words: Sequence[Word], labels: Sequence[Label], dfa: DFA, classes: Sequence[Label]
    ) -> Evidence:
        """Words over the alphabet of an automaton; words with other symbols are left out."""
        columns, numbers = dfa.columns, {label: i for i, label in enumerate(classes)}
        seen: dict[tuple[int, ...], NDArray[np.int32]] = {}
        for word, label in zip(words, labels, strict=True):
            try:
                key = tuple(columns[symbol] for symbol in word)
            except KeyError:
                continue
            if key not in seen:
                seen[key] = np.zeros(len(classes), dtype=np.int32)
            seen[key][numbers[label]] += 1
        lengths = np.array([len(key) for key in seen], dtype=np.int64)
        flat = np.fromiter((column for key in seen for column in key), np.int32, lengths.sum())
        counts = np.array(list(seen.values()), dtype=np.int32).reshape(len(seen), len(classes))
        return cls(
            alphabet=dfa.alphabet,
            classes=tuple(classes),
            symbols=flat,
            ends=np.cumsum(lengths),
            counts=counts,
        )

    @property
    def total(self) -> int:
        """How many words there are, repeats counted."""
        return int(self.counts.sum())


@dataclass(frozen=True, kw_only=True)
class Mended:
    """The machine found, and what it costs."""

    dfa: DFA
    errors: int
    words: int
    bits: float


def describe_bits(states: int, symbols: int, errors: int, words: int) -> float:
    """Length of the description of a machine and of the words it gets wrong."""
    machine = states * symbols * np.log2(max(states, 2))
    return float(machine + errors * (np.log2(max(words, 2)) + 1))


def mend(dfa: DFA, evidence: Evidence, *, seed: int = 0, rounds: int = 8) -> Mended:
    """The best machine found by single changes, merges and splits, starting from `dfa`."""
    from kleene.read.search import improve

    table, initial = improve(
        dfa.transitions,
        dfa.initial,
        evidence.symbols,
        evidence.ends,
        evidence.counts,
        seed=seed,
        rounds=rounds,
    )
    return judge(table, initial, evidence)


def judge(table: Ints, initial: int, evidence: Evidence) -> Mended:
    """A table with majority outputs as a minimal machine, with its cost."""
    from kleene.read.search import endings

    ending = endings(table, initial, evidence.symbols, evidence.ends)
    votes = np.zeros((len(table), len(evidence.classes)), dtype=np.int64)
    np.add.at(votes, ending, evidence.counts)
    errors = int(votes.sum() - votes.max(1).sum())
    common = int(votes.sum(0).argmax())
    best = np.where(votes.any(1), votes.argmax(1), common)
    dfa = DFA(
        alphabet=evidence.alphabet,
        transitions=table,
        outputs=tuple(evidence.classes[i] for i in best),
        initial=initial,
    ).minimize()
    bits = describe_bits(dfa.num_states, len(evidence.alphabet), errors, evidence.total)
    return Mended(dfa=dfa, errors=errors, words=evidence.total, bits=bits)
