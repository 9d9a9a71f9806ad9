"""Which transitions of an automaton some words take."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from kleene.automata.symbols import encode
from kleene.automata.table import TransitionTable
from kleene.machine import Word


def moves_taken(dfa: TransitionTable, words: Iterable[Word] | None) -> npt.NDArray[np.bool_]:
    """Whether any of the words takes each transition; states by symbols. None takes them all.

    >>> from kleene import DFA
    >>> dfa = DFA.from_table({0: {"a": 1, "b": 0}, 1: {"a": 0, "b": 1}}, start=0, accept={1})
    >>> moves_taken(dfa, ["ab", "a"]).tolist()
    [[True, False], [False, True]]
    """
    if words is None:
        return np.ones(dfa.transitions.shape, dtype=np.bool_)
    columns = sorted((encode(word, dfa.columns) for word in words), key=len, reverse=True)
    lengths = np.array([len(word) for word in columns], dtype=np.int64)
    taken = np.zeros((dfa.num_states, len(dfa.alphabet)), dtype=np.bool_)
    state = np.full(len(columns), dfa.initial)
    for time in range(int(lengths.max(initial=0))):
        lasting = int(np.searchsorted(-lengths, -time))  # longest first: those with a next symbol
        symbol = np.array([word[time] for word in columns[:lasting]])
        taken[state[:lasting], symbol] = True
        state[:lasting] = dfa.transitions[state[:lasting], symbol]
    return taken


def known_words(dfa: TransitionTable, words: Iterable[Word]) -> list[Word]:
    """The words all of whose symbols the automaton has."""
    return [word for word in words if all(symbol in dfa.columns for symbol in word)]
