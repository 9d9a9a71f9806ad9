"""Random automata for property tests."""

from itertools import product

import numpy as np
from hypothesis import strategies as st

from kleene.automata import DFA


@st.composite
def dfas(draw, *, alphabet=None, labels=(False, True), max_states=6):
    """An automaton of up to `max_states` states, some perhaps unreachable or redundant."""
    if alphabet is None:
        alphabet = draw(st.sampled_from([("a",), ("0", "1"), ("a", "b", "c")]))
    states = draw(st.integers(1, max_states))
    entry = st.integers(0, states - 1)
    row = st.lists(entry, min_size=len(alphabet), max_size=len(alphabet))
    rows = draw(st.lists(row, min_size=states, max_size=states))
    outputs = draw(st.lists(st.sampled_from(labels), min_size=states, max_size=states))
    return DFA(
        alphabet=tuple(alphabet),
        transitions=np.array(rows),
        outputs=tuple(outputs),
        initial=draw(entry),
    )


def pairs(**settings):
    """Two automata over the same alphabet."""
    return st.sampled_from([("a",), ("0", "1"), ("a", "b", "c")]).flatmap(
        lambda alphabet: st.tuples(
            dfas(alphabet=alphabet, **settings), dfas(alphabet=alphabet, **settings)
        )
    )


def words_up_to(alphabet, length):
    """All words of at most this length, shortest first."""
    for size in range(length + 1):
        yield from product(alphabet, repeat=size)


def brute_run(dfa, word):
    """The output of a word, by nothing but table look-ups."""
    state = dfa.initial
    for symbol in word:
        state = dfa.transitions[state][dfa.alphabet.index(symbol)]
    return dfa.outputs[state]
