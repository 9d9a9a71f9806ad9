"""A short word on which the soft network and an automaton differ, or the search that found none.

Random words miss rare differences, so the search tries every short word, extensions of prefixes
where the network is undecided, and access word x middle x distinguishing suffix (the W-method). The
word found is then shortened.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kleene.arrays import Ints
from kleene.automata import DFA
from kleene.data.alphabet import Alphabet, Ids
from kleene.extraction.ambiguity import Ambiguity
from kleene.extraction.fidelity import prefix_labels, run_ids
from kleene.extraction.words import (
    EMPTY_WORD,
    Oracle,
    Target,
    all_words,
    encode_words,
    spell_ids,
    table_of,
)
from kleene.machine import Label, Word
from kleene.passes.prefixes import UNLABELLED, Prefixes

SHORT_WORDS = 4_100  # short words, all tried
GUIDED_WORDS = 2_500  # words of each guided kind
MIDDLE_WORDS = 15  # words between access word and suffix
MAX_W_STATES, MAX_W_SYMBOLS = 200, 100  # limits of the W-method
SHORTENING_ROUNDS = 30


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """The result of a search: a word, or None."""

    word: Word | None
    exhaustive: int
    """The length up to which every word was tried."""
    answers: tuple[Label, Label] | None = None
    """On that word, the label of the network and the label of the automaton."""


def search(
    model: Target,
    dfa: DFA,
    oracle: Oracle,
    candidates: Sequence[Ids] = (),
    *,
    prefixes: Prefixes | None = None,
    ambiguities: Sequence[Ambiguity] = (),
) -> Disagreement:
    """A shortest word found on which the network and the automaton differ.

    `candidates` are words to try, `prefixes` a pass of the network over some words.
    """
    small, symbols = dfa.minimize(), model.alphabet.symbols
    short, exhaustive = all_words(len(symbols), SHORT_WORDS)
    found = _differing(model, small, oracle, short)
    if not found:  # any other word is longer than these
        undecided = encode_words(model, [word for one in ambiguities[:20] for word in one.examples])
        middles = all_words(len(symbols), MIDDLE_WORDS)[0]
        access, ends = _access(small, symbols), _distinguishing(small, symbols)
        kinds = [
            _combined(undecided, middles, ends),
            _combined(undecided, middles, undecided),
            _combined(access, [word for word in middles if len(word) < 2], ends),
            _combined(access, middles, ends),
            candidates,
            () if prefixes is None else _prefixes(model, small, prefixes),
        ]
        for words in kinds:
            found += _differing(model, small, oracle, words)
    if not found:
        return Disagreement(word=None, exhaustive=exhaustive)
    shortest = _shortened(model, small, oracle, min(found, key=len))
    classes = int(oracle([shortest])[0]), int(run_ids(model, small, [shortest])[0])
    answers = model.classes[classes[0]], model.classes[classes[1]]
    return Disagreement(word=spell_ids(model, shortest), exhaustive=exhaustive, answers=answers)


def _differing(model: Target, dfa: DFA, oracle: Oracle, words: Sequence[Ids]) -> list[Ids]:
    differ = np.flatnonzero(oracle(words) != run_ids(model, dfa, words))
    return [words[i] for i in differ.tolist()]


def _combined(*parts: Sequence[Ids]) -> list[Ids]:
    """Words of one piece from each part, all of them where there are few."""
    sizes = tuple(len(part) for part in parts)
    total = math.prod(sizes)
    chosen = np.arange(total)
    if total > GUIDED_WORDS:
        chosen = np.random.default_rng(total).choice(total, GUIDED_WORDS, replace=False)
    picks = np.stack(np.unravel_index(chosen, sizes), axis=1).tolist() if total else []
    return [np.concatenate([p[i] for p, i in zip(parts, pick, strict=True)]) for pick in picks]


def _prefixes(model: Target, dfa: DFA, prefixes: Prefixes) -> list[Ids]:
    """The shortest prefixes of recorded words on which the two differ."""
    labels = prefix_labels(model, dfa, prefixes)
    differ = np.flatnonzero((labels != prefixes.labels) & (prefixes.labels != UNLABELLED))
    shortest = differ[np.argsort(prefixes.time[differ], kind="stable")][:100]
    return [prefixes.prefix(entry) for entry in shortest.tolist()]


def _access(dfa: DFA, symbols: Sequence[object]) -> list[Ids]:
    """A shortest word to every state, breadth-first."""
    table = table_of(dfa, symbols)
    if len(table) > MAX_W_STATES or len(symbols) > MAX_W_SYMBOLS:
        return []
    words, todo = {dfa.initial: EMPTY_WORD}, deque([dfa.initial])
    while todo:
        state = todo.popleft()
        for column, target in enumerate(table[state].tolist()):
            if target not in words:
                words[target] = np.append(words[state], Alphabet.ids(column))
                todo.append(target)
    return list(words.values())


def _distinguishing(dfa: DFA, symbols: Sequence[object]) -> list[Ids]:
    """Words such that any two states of a minimal automaton differ on one of them."""
    table = table_of(dfa, symbols)
    ends = [EMPTY_WORD]
    if len(table) > MAX_W_STATES or len(symbols) > MAX_W_SYMBOLS:
        return ends
    labels = {label: i for i, label in enumerate(dict.fromkeys(dfa.outputs))}
    rows = [np.array([labels[label] for label in dfa.outputs])]  # (end, state)
    classes = _classes(rows)
    while len(np.unique(classes)) < len(table):
        column, end = _splitting(table, rows, classes)
        ends.append(np.concatenate([[Alphabet.ids(column)], ends[end]]))
        rows.append(rows[end][table[:, column]])
        classes = _classes(rows)
    return ends


def _classes(rows: list[Ints]) -> Ints:
    return np.unique(np.stack(rows), axis=1, return_inverse=True)[1].reshape(-1)


def _splitting(table: Ints, rows: list[Ints], classes: Ints) -> tuple[int, int]:
    """A symbol and an end such that reading both tells apart two states of one class."""
    for end, row in enumerate(rows):
        after = row[table]  # (state, symbol)
        for column in range(table.shape[1]):
            both = classes * (int(row.max()) + 1) + after[:, column]
            if len(np.unique(both)) > len(np.unique(classes)):
                return column, end
    raise AssertionError("a minimal automaton has no two states that nothing tells apart")


def _shortened(model: Target, dfa: DFA, oracle: Oracle, word: Ids) -> Ids:
    """Leave out parts of the word as long as the two still differ."""
    for _ in range(SHORTENING_ROUNDS):
        sizes = np.unique(np.geomspace(1, max(len(word), 1), 8).astype(int))
        shorter = [
            np.delete(word, np.s_[start : start + size])
            for size in sizes.tolist()
            for start in range(0, len(word) - size + 1, max(1, len(word) // 40))
        ]
        found = _differing(model, dfa, oracle, shorter)
        if not found:
            break
        word = min(found, key=len)
    return word
