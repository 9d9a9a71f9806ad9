import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from random_automata import brute_run, dfas, pairs, words_up_to

from kleene.automata import DFA
from kleene.errors import AlphabetError, AutomatonError
from kleene.machine import run

EVEN = {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}}


def even_ones():
    return DFA.from_table(EVEN, start="even", accept={"even"})


@given(dfas(labels=("x", "y", "z")))
def test_all_ways_to_run_a_word_agree_with_table_lookups(automaton):
    words = list(words_up_to(automaton.alphabet, 4))
    expected = [brute_run(automaton, word) for word in words]
    assert [automaton.run(word) for word in words] == expected
    assert [automaton.run("".join(word)) for word in words] == expected
    assert [run(automaton, word) for word in words] == expected
    assert [automaton.outputs[automaton.trace(word)[-1]] for word in words] == expected
    assert automaton.run_many(words).tolist() == expected


def test_partial_table_is_completed_with_a_named_rejecting_sink():
    automaton = DFA.from_table({0: {"a": 1}, 1: {"b": 0}}, start=0, accept={0})
    assert automaton.names == ("0", "1", "sink")
    for word in words_up_to("ab", 7):
        text = "".join(word)
        assert automaton.accepts(text) == (text == "ab" * (len(text) // 2))


def test_table_with_labels_and_word_symbols():
    automaton = DFA.from_table(
        {"s": {"good": "p", "bad": "n"}, "p": {"good": "p", "bad": "n"}, "n": {"good": "n"}},
        start="s",
        outputs={"s": "neutral", "p": "positive", "n": "negative", "lost": "none"},
        sink="lost",
    )
    assert automaton.run(["good", "good"]) == "positive"
    assert automaton.run(["bad", "bad"]) == "none"
    with pytest.raises(AutomatonError, match="run"):
        automaton.accepts(["good"])
    with pytest.raises(AutomatonError, match="requires outputs True and False"):
        assert ["good"] in automaton
    negative = automaton.recognizer("negative")
    assert negative.accepts(["bad", "good"])
    assert ["ugly"] not in negative


@pytest.mark.parametrize(
    ("table", "settings", "told"),
    [
        (EVEN, {"start": "nowhere", "accept": {"even"}}, "nowhere"),
        (EVEN, {"start": "even", "accept": {"evn"}}, "evn"),
        ({"a": {"x": "b"}}, {"start": "a", "accept": {"a"}}, "'a' goes to 'b' on 'x'"),
        (EVEN, {"start": "even"}, "needs accept"),
        (EVEN, {"start": "even", "accept": {"even"}, "alphabet": ["0"]}, "'1'"),
        (EVEN, {"start": "even", "outputs": {"even": "yes"}}, "odd"),
        ({0: {"a": 0}, 1: {}}, {"start": 0, "outputs": {0: "x", 1: "y"}}, "sink"),
        ({}, {"start": 0, "accept": set()}, "start is 0"),
    ],
)
def test_wrong_tables_are_named(table, settings, told):
    with pytest.raises(AutomatonError, match=told):
        DFA.from_table(table, **settings)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"transitions": np.zeros((2, 2), int), "outputs": (True,)}, "shape"),
        ({"transitions": [[0], [0, 0]], "outputs": (True, False)}, "one row per output"),
        ({"transitions": [[0, 2], [0, 0]], "outputs": (True, False)}, "state 0 goes to 2 on 'b'"),
        ({"transitions": [[0, -1]], "outputs": (True,)}, "goes to -1"),
        ({"transitions": [[0.0, 0.0]], "outputs": (True,)}, "float64"),
        ({"transitions": np.zeros((0, 2), int), "outputs": ()}, "at least one state"),
        (
            {"transitions": [[0, 0]], "outputs": (True,), "initial": 1},
            "from 0 to 0, got 1",
        ),
        ({"transitions": [[0, 0]], "outputs": (True,), "names": ("p", "q")}, "got 2"),
        ({"transitions": [[0, 0]], "outputs": (True,), "alphabet": ("a", "a")}, "twice"),
        ({"transitions": [[]], "outputs": (True,), "alphabet": ()}, "empty"),
        ({"transitions": [[0]], "outputs": (True,), "alphabet": (["a"],)}, "hashable"),
    ],
)
def test_wrong_fields_are_named(fields, told):
    with pytest.raises(AutomatonError, match=told):
        DFA(**{"alphabet": ("a", "b"), **fields})


def test_a_dfa_is_frozen_and_leaves_the_callers_array_alone():
    table = np.zeros((1, 1), dtype=np.int32)
    automaton = DFA(alphabet=("a",), transitions=table, outputs=(True,))
    table[0, 0] = 0  # still writable
    with pytest.raises(ValueError, match="read-only"):
        automaton.transitions[0, 0] = 0
    with pytest.raises(AttributeError):
        automaton.initial = 0


@pytest.mark.parametrize("read", ["run", "accepts", "trace"])
def test_unknown_symbols_are_named_with_the_alphabet(read):
    with pytest.raises(AlphabetError, match=r"'2' is not in the alphabet \{'0', '1'\}"):
        getattr(even_ones(), read)("012")
    with pytest.raises(AlphabetError, match="'2'"):
        even_ones().step(0, "2")
    assert even_ones().trace("110") == [0, 1, 0, 0]


def test_a_string_for_an_automaton_over_words_gets_a_hint():
    automaton = DFA.from_table({0: {"the": 0, "cat": 0}}, start=0, accept={0})
    with pytest.raises(AlphabetError, match="list of symbols"):
        automaton.run("the")
    with pytest.raises(AlphabetError, match="not in the alphabet"):
        automaton.run([["the"]])


@given(pairs())
def test_algebra_is_logic_word_by_word(two):
    one, other = two
    either, both, rest = one | other, one & other, one - other
    for word in words_up_to(one.alphabet, 4):
        p, q = brute_run(one, word), brute_run(other, word)
        assert either.accepts(word) == (p or q)
        assert both.accepts(word) == (p and q)
        assert rest.accepts(word) == (p and not q)
        assert (~one).accepts(word) == (not p)


@given(dfas(labels=("x", "y")))
def test_exploring_a_machine_gives_its_language(automaton):
    assert DFA.from_machine(automaton) == automaton


def test_importing_automata_loads_nothing_heavy():
    heavy = ["torch", "numba", "aalpy", "automata", "pygraphviz", "matplotlib"]
    code = f"import sys, kleene.automata; print([m for m in {heavy} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
