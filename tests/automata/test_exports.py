import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_automata import brute_run, dfas, words_up_to

from kleene.automata import DFA
from kleene.automata.formats.regex import as_text
from kleene.automata.symbols import describe
from kleene.errors import AutomatonError, KleeneError

WORDS = ("the", "cat", "a+b")
ODD = (("pixel", 0), 1.5, True, None, "x", -3)
VOCABULARY = [f"word{i}" for i in range(100)]


def same_arrays(one, other):
    return (
        one.alphabet == other.alphabet
        and (one.transitions == other.transitions).all()
        and one.outputs == other.outputs
        and one.initial == other.initial
        and one.names == other.names
    )


@given(dfas(alphabet=ODD, labels=(True, False, "x", ("y", 2), None)))
def test_json_round_trip(dfa):
    for document in (dfa.to_json(), json.loads(dfa.to_json()), dfa.to_json(indent=2)):
        again = DFA.from_json(document)
        assert same_arrays(again, dfa)
        assert [type(s) for s in again.alphabet] == [type(s) for s in dfa.alphabet]
        assert [type(s) for s in again.outputs] == [type(s) for s in dfa.outputs]


def test_json_has_the_documented_keys_and_files_round_trip(tmp_path):
    dfa = DFA.from_table({"p": {"a": "q"}, "q": {"a": "p"}}, start="q", accept={"p"})
    document = json.loads(dfa.to_json())
    assert document == {
        "format": "kleene.dfa/1",
        "alphabet": ["a"],
        "start": 1,
        "outputs": [True, False],
        "transitions": [[1], [0]],
        "names": ["p", "q"],
    }
    assert same_arrays(DFA.load(dfa.save(tmp_path / "dfa.json")), dfa)


GOOD = {
    "format": "kleene.dfa/1",
    "alphabet": ["a"],
    "start": 0,
    "outputs": [True],
    "transitions": [[0]],
}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "an object"),
        ("{}", "format"),
        ({**GOOD, "format": "kleene.dfa/2"}, "kleene.dfa/2"),
        ({key: value for key, value in GOOD.items() if key != "outputs"}, "has no outputs"),
        ({**GOOD, "transitions": [[1]]}, "goes to 1"),
        ({**GOOD, "transitions": [["0"]]}, "numbers only"),
        ({**GOOD, "transitions": [[0.5]]}, "numbers only"),
        ({**GOOD, "transitions": [[True]]}, "numbers only"),
        ({**GOOD, "transitions": [[0, 0]]}, "shape"),
        ({**GOOD, "transitions": [[0], [0, 0]], "outputs": [True, True]}, "rows of one length"),
        ({**GOOD, "transitions": [[10**30]]}, "64 bits"),
        ({**GOOD, "transitions": 3}, "a list"),
        ({**GOOD, "start": "q"}, "'q'"),
        ({**GOOD, "start": 7}, "got 7"),
        ({**GOOD, "alphabet": "a"}, "a list"),
        ({**GOOD, "alphabet": [{}]}, "no symbol"),
        ({**GOOD, "alphabet": ["a", "a"]}, "twice"),
        ({**GOOD, "outputs": []}, "at least one state"),
        ({**GOOD, "names": ["p", "q"]}, "got 2"),
    ],
)
def test_bad_json_is_named(document, told):
    for form in (document, json.dumps(document) if isinstance(document, dict) else document):
        with pytest.raises(AutomatonError, match=told):
            DFA.from_json(form)


def test_what_json_cannot_hold_and_files_that_are_not_there(tmp_path):
    dfa = DFA(alphabet=(frozenset("a"),), transitions=[[0]], outputs=(True,))
    with pytest.raises(AutomatonError, match="no JSON form"):
        dfa.to_json()
    with pytest.raises(AutomatonError, match=r"absent\.json"):
        DFA.load(tmp_path / "absent.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AutomatonError, match="UTF-8"):
        DFA.load(tmp_path / "binary.json")
    with pytest.raises(KleeneError, match="cannot write"):
        replace(dfa, alphabet=("a",)).save(tmp_path / "no" / "folder.json")


@given(dfas(), dfas(alphabet=ODD, labels=("x", "y", "z")))
def test_languages_go_to_other_libraries_and_formats_and_come_back(dfa, labelled):
    assert DFA.from_aalpy(dfa.to_aalpy()) == dfa
    assert DFA.from_aalpy(labelled.to_aalpy()) == labelled  # a Moore machine
    lib, aal = dfa.to_automata_lib(), dfa.to_aalpy()
    for word in words_up_to(dfa.alphabet, 4):
        assert lib.accepts_input("".join(word)) == brute_run(dfa, word)
        aal.reset_to_initial()
        for symbol in word:
            aal.step(symbol)
        assert aal.current_state.is_accepting == brute_run(dfa, word)


def test_conversions_that_cannot_be_say_why():
    words = DFA.from_table({0: {"the": 0}}, start=0, accept={0})
    with pytest.raises(AutomatonError, match="one-character"):
        words.to_automata_lib()
    labelled = DFA(alphabet=("a",), transitions=[[0]], outputs=("x",))
    for convert in ("to_automata_lib", "to_regex", "complement"):
        with pytest.raises(AutomatonError, match="recognizer"):
            getattr(labelled, convert)()
    with pytest.raises(AutomatonError, match="str"):
        DFA.from_aalpy("dfa")


@settings(max_examples=100)
@given(
    st.sampled_from(
        [tuple("ab"), tuple("abc"), WORDS, ODD[:3], tuple("]^-\\"), tuple(".*+ "), tuple("[&~|")]
    ).flatmap(lambda alphabet: dfas(alphabet=alphabet, max_states=5))
)
def test_regular_expression_matches_exactly_the_language(dfa):
    pattern = re.compile(dfa.to_regex())
    characters = all(isinstance(symbol, str) and len(symbol) == 1 for symbol in dfa.alphabet)
    for word in words_up_to(dfa.alphabet, 8 if len(dfa.alphabet) < 3 else 5):
        text = "".join(word) if characters else as_text(word)
        assert (pattern.fullmatch(text) is not None) == brute_run(dfa, word)


def big(states, symbols, seed=0):
    rng = np.random.default_rng(seed)
    return DFA(
        alphabet=tuple("abcdefghijklmnopqrstuvwxyz. "[:symbols]),
        transitions=rng.integers(0, states, (states, symbols)),
        outputs=tuple(rng.random(states) < 0.3),
    )


def test_regular_expressions_are_short_where_they_can_be():
    letters = DFA.from_table(
        {0: dict.fromkeys("abcdef", 1), 1: dict.fromkeys("abcdef", 1)}, start=0, accept={1}
    )
    assert letters.to_regex() == "[a-f]+"
    nothing = DFA.from_table({0: {"a": 0}}, start=0, accept=set())
    assert re.fullmatch(nothing.to_regex(), "") is None
    with pytest.raises(AutomatonError, match="look the same"):
        DFA(alphabet=(1, "1"), transitions=[[0, 0]], outputs=(True,)).to_regex()
    with pytest.raises(AutomatonError, match="longer than"):
        big(14, 4).to_regex(max_length=1000)


@pytest.mark.parametrize(
    ("symbols", "alphabet", "text"),
    [
        ("ab", "abc", "a, b"),
        ("abcxz", "abcdefxyz", "a-c, x, z"),
        ("abcdefghijkmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz", "any but l"),
        ("abc", "abc", "Σ"),
        ("01", "01", "0, 1"),
        (" ", " a", "␣"),
        (VOCABULARY[1:], VOCABULARY, "any but word0"),
        (VOCABULARY[:50], VOCABULARY, ", ".join([*VOCABULARY[:7], "43 more"])),
    ],
)
def test_symbols_are_written_briefly(symbols, alphabet, text):
    assert describe(list(symbols), list(alphabet)) == text
