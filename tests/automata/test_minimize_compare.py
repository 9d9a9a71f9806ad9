from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_automata import brute_run, dfas, pairs, words_up_to

from kleene.automata import DFA, difference
from kleene.errors import AlphabetError, AutomatonError


class Plain:
    """An automaton seen only as a machine, with states that are not numbers."""

    def __init__(self, dfa):
        self.dfa = dfa
        self.alphabet = dfa.alphabet[::-1]

    def start(self):
        return ("state", self.dfa.initial)

    def step(self, state, symbol):
        return ("state", self.dfa.step(state[1], symbol))

    def output(self, state):
        return self.dfa.output(state[1])


@given(dfas(max_states=10))
def test_minimal_automaton_keeps_the_language_and_has_the_size_automata_lib_finds(dfa):
    minimal = dfa.minimize()
    peer = dfa.to_automata_lib().minify(retain_names=False)
    # automata-lib leaves out a dead state, so count after completing it
    assert minimal.num_states == len(peer.to_complete().states)
    assert minimal.to_automata_lib() == dfa.to_automata_lib()


@given(dfas(labels=("x", "y", "z"), max_states=8))
def test_minimal_states_are_told_apart_by_some_word_and_all_reached(dfa):
    minimal = dfa.minimize()
    starts = [replace(minimal, initial=state) for state in range(minimal.num_states)]
    signatures = {
        tuple(brute_run(start, word) for word in words_up_to(dfa.alphabet, minimal.num_states))
        if minimal.num_states < 5
        else start
        for start in starts
    }
    assert len(signatures) == minimal.num_states
    assert minimal.reachable().num_states == minimal.num_states
    for word in words_up_to(dfa.alphabet, 5):
        assert minimal.run(word) == brute_run(dfa, word)


@given(dfas(max_states=8), st.randoms(use_true_random=False))
def test_renumbered_states_and_symbols_give_equal_values_and_identical_minimal_tables(dfa, rng):
    states = list(range(dfa.num_states))
    rng.shuffle(states)  # states[i] is the new number of i
    table = np.empty_like(dfa.transitions)
    table[states] = np.array(states)[dfa.transitions]
    outputs = [None] * dfa.num_states
    for old, new in enumerate(states):
        outputs[new] = dfa.outputs[old]
    other = replace(dfa, transitions=table, outputs=tuple(outputs), initial=states[dfa.initial])
    assert (other.minimize().transitions == dfa.minimize().transitions).all()
    assert other.minimize().outputs == dfa.minimize().outputs
    mirrored = replace(other, alphabet=other.alphabet[::-1], transitions=table[:, ::-1])
    for same in (other, mirrored, dfa.minimize(), mirrored.minimize()):
        assert same == dfa
        assert hash(same) == hash(dfa)


@given(pairs(labels=("x", "y")))
def test_difference_is_a_shortest_word_and_none_means_equal(two):
    one, other = two
    found = difference(one, other)
    # two automata that differ do so on a word shorter than both sizes together
    limit = 7 if len(one.alphabet) < 3 else 6
    first = next(
        (w for w in words_up_to(one.alphabet, limit) if brute_run(one, w) != brute_run(other, w)),
        None,
    )
    if first is not None:
        assert found is not None
        assert len(found) == len(first)
    if found is not None:
        assert brute_run(one, found) != brute_run(other, found)
        assert len(found) > limit or first is not None
    else:
        assert one.minimize().num_states == other.minimize().num_states
        assert hash(one) == hash(other)
    assert (one == other) == (found is None)


@given(pairs(max_states=9))
def test_any_machine_is_compared_as_well_as_a_table(two):
    one, other = two
    fast, general = difference(one, other), difference(Plain(one), Plain(other))
    mixed = difference(one, Plain(other))
    assert (fast is None) == (general is None) == (mixed is None)
    if fast is not None:
        assert len(fast) == len(general) == len(mixed)


def test_long_shortest_word():
    def line(length):
        return DFA(
            alphabet=("a",),
            transitions=np.minimum(np.arange(length) + 1, length - 1)[:, None],
            outputs=tuple(state == length - 1 for state in range(length)),
        )

    assert difference(line(300), line(301)) == "a" * 299


def test_words_over_word_symbols_are_tuples():
    one = DFA.from_table({0: {"the": 1, "cat": 0}, 1: {"the": 1, "cat": 1}}, start=0, accept={1})
    assert one.difference(one.recognizer(None)) == ("the",)
    assert one.difference(one.complement()) == ()


def test_different_alphabets_are_an_error_to_compare_and_simply_unequal():
    one = DFA.from_table({0: {"a": 0, "b": 0}}, start=0, accept={0})
    other = DFA.from_table({0: {"b": 0, "c": 0}}, start=0, accept={0})
    with pytest.raises(AlphabetError, match="only the first has 'a'; only the second has 'c'"):
        difference(one, other)
    with pytest.raises(AlphabetError, match="'c'"):
        one | other
    assert one != other
    assert one != "a"


def test_endless_machines_stop_at_the_limit():
    class Counter:
        alphabet = ("a",)

        def start(self):
            return 0

        def step(self, state, symbol):
            return state + 1

        def output(self, state):
            return False

    class LateCounter(Counter):
        def output(self, state):
            return state >= 30

    with pytest.raises(AutomatonError, match="more than 50 states"):
        DFA.from_machine(Counter(), max_states=50)
    with pytest.raises(AutomatonError, match="max_pairs"):
        difference(Counter(), Counter(), max_pairs=100)
    assert difference(Counter(), LateCounter(), max_pairs=100) == "a" * 30
