import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_automata import brute_run, dfas

from kleene.automata import DFA, Matcher
from kleene.automata import matcher as module
from kleene.errors import AlphabetError

KINDS = [False, True]


@pytest.mark.parametrize("compiled", KINDS)
@given(data=st.data(), dfa=dfas(alphabet=("a", "c", "é", "z"), labels=("x", "yy", "z")))
def test_strings_and_lists_agree_with_table_lookups(compiled, data, dfa):
    words = data.draw(st.lists(st.text(alphabet="aczé", max_size=12), max_size=20))
    matcher = Matcher(dfa, compiled=compiled)
    expected = [brute_run(dfa, word) for word in words]
    assert matcher(words).tolist() == expected
    assert matcher(map(list, words)).tolist() == expected


@pytest.mark.parametrize("compiled", KINDS)
@pytest.mark.parametrize("alphabet", [("α", "β", "漢"), ("a", "\U0010ffff"), (1, 2, (3, 4)), "01"])
def test_any_alphabet_and_many_chunks(compiled, alphabet, monkeypatch):
    monkeypatch.setattr(module, "_KERNEL_CHUNK", 50)
    monkeypatch.setattr(module, "_NUMPY_CHUNK", 50)
    rng = np.random.default_rng(0)
    dfa = DFA(
        alphabet=tuple(alphabet),
        transitions=rng.integers(0, 7, (7, len(alphabet))),
        outputs=tuple(rng.random(7) < 0.5),
    )
    lengths = [int(n) for n in rng.integers(0, 40, 300)]
    words = [[alphabet[i] for i in rng.integers(0, len(alphabet), n)] for n in lengths]
    expected = [brute_run(dfa, word) for word in words]
    matcher = Matcher(dfa, compiled=compiled)
    assert matcher(words).tolist() == expected
    if isinstance(alphabet[0], str):
        assert matcher(["".join(word) for word in words]).tolist() == expected


def test_the_kernel_takes_over_after_much_work(monkeypatch):
    dfa = DFA.from_table({0: {"a": 1}, 1: {"a": 0}}, start=0, accept={0})
    matcher = Matcher(dfa)
    assert matcher(["a", "aa"]).tolist() == [False, True]
    assert matcher._kernel is None
    monkeypatch.setattr(module, "_NUMPY_SECONDS", 0)
    assert matcher(["a", "aa"]).tolist() == [False, True]
    assert matcher._kernel is not None


def test_outputs_keep_their_type():
    def of(*labels):
        table = np.zeros((len(labels), 1), int)
        return Matcher(DFA(alphabet=("a",), transitions=table, outputs=labels))(["", "a"])

    assert of(True, False).dtype == bool
    assert DFA.from_table({0: {"a": 0}}, start=0, accept={0}).run_many([]).shape == (0,)
    assert of(3, 4).dtype.kind == "i"
    assert of("x", "y").dtype.kind == "U"
    assert of((1, 2), "y").tolist() == [(1, 2), (1, 2)]
    assert of((1, 2), (3, 4)).tolist() == [(1, 2), (1, 2)]


@pytest.mark.parametrize("compiled", KINDS)
@pytest.mark.parametrize("alien", ["b", "!", "~", "漢"])
def test_unknown_symbols_are_named(compiled, alien):
    dfa = DFA.from_table({0: {"a": 0, "c": 0}}, start=0, accept={0})
    matcher = Matcher(dfa, compiled=compiled)
    for words in (["ac", "a" + alien + "c"], [["a"], ["a", alien]]):
        with pytest.raises(AlphabetError, match=rf"'{alien}' is not in the alphabet"):
            matcher(words)


def test_a_lone_word_is_an_error():
    matcher = Matcher(DFA.from_table({0: {"a": 0, "c": 0}}, start=0, accept={0}))
    with pytest.raises(AlphabetError, match="list of words"):
        matcher("ac")
