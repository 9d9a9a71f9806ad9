"""Mend a machine against labelled words, and prefer the smaller one.

A table read off a network may be nearly right: a wrong target here, two states for one there. The
search below changes one transition at a time, merges states and splits them, and keeps whatever
shortens the description of machine and errors together:

    bits = states * symbols * log2(states) + errors * (log2(words) + 1)

so that a state must explain more words than it costs. Labels of states are always the majority of
the words that end there.

Where errors are left, some labels may be wrong, and a word more or less says little. The search is
then made once more with the price of errors at their rate, and a price on states that a handful of
wrong labels cannot pay:

    bits = states * (symbols * log2(states) + log2(words)) + log2 binomial(words, errors)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log

import numpy as np
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.machine import Label, Word

Ints = NDArray[np.int32]

MOST_NOISE = 0.15
"""The largest share of wrong labels that is reckoned with."""


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
    """Length of the description of a machine and of the words it gets wrong, labels being right."""
    machine = states * symbols * np.log2(max(states, 2))
    return float(machine + errors * (np.log2(max(words, 2)) + 1))


def noisy_bits(states: int, symbols: int, errors: int, words: int) -> float:
    """The same where labels may be wrong: the set of errors costs what it takes to name it.

    Above `MOST_NOISE` an error costs what it costs there, or chance would look cheap.
    """
    machine = states * (symbols * np.log2(max(states, 2)) + np.log2(max(words, 2)))
    noise = min(errors, int(MOST_NOISE * words))
    named = (lgamma(words + 1) - lgamma(noise + 1) - lgamma(words - noise + 1)) / log(2)
    return float(machine + named + (errors - noise) * error_bits(noise, words))


def error_bits(errors: int, words: int) -> float:
    """What one more error costs among so many."""
    share = min(max(errors, 1) / max(words, 2), MOST_NOISE)
    return float(np.log2((1 - share) / share))


def mend(dfa: DFA, evidence: Evidence, *, seed: int = 0, rounds: int = 8) -> Mended:
    """The best machine found by single changes, merges and splits, starting from `dfa`."""
    from kleene.induction.refine_kernels import improve

    def found(table: Ints, initial: int, tolerant: bool) -> Mended:
        words = (evidence.symbols, evidence.ends, evidence.counts)
        better = improve(table, initial, *words, seed=seed, rounds=rounds, tolerant=tolerant)
        return judge(*better, evidence)

    strict = found(dfa.transitions, dfa.initial, False)
    if not strict.errors:
        return strict
    tolerant = found(dfa.transitions, dfa.initial, True)
    again = found(strict.dfa.transitions, strict.dfa.initial, True)
    return min(strict, tolerant, again, key=lambda one: one.bits)


def judge(table: Ints, initial: int, evidence: Evidence) -> Mended:
    """A table with majority outputs as a minimal machine, with its cost."""
    from kleene.induction.refine_kernels import endings

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
    bits = noisy_bits if errors else describe_bits
    cost = bits(dfa.num_states, len(evidence.alphabet), errors, evidence.total)
    return Mended(dfa=dfa, errors=errors, words=evidence.total, bits=cost)
