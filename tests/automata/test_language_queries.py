"""Questions about languages, against brute force over all words and against `re`."""

from __future__ import annotations

import json
import re
from itertools import islice, product
from xml.etree import ElementTree

import numpy as np
import pytest

from kleene import DFA
from kleene.automata.counter.machine import CounterMachine
from kleene.data.alphabet import Alphabet
from kleene.errors import AlphabetError, AutomatonError, SettingError

LONGEST = 6


def random_dfa(seed: int, states: int, alphabet: str) -> DFA:
    random = np.random.default_rng(seed)
    return DFA(
        alphabet=tuple(alphabet),
        transitions=random.integers(states, size=(states, len(alphabet))),
        outputs=tuple(random.random(states) < 0.4),
    )


def all_words(alphabet: str, longest: int = LONGEST) -> list[str]:
    return ["".join(w) for n in range(longest + 1) for w in product(alphabet, repeat=n)]


@pytest.mark.parametrize("seed", range(20))
def test_counting_and_enumerating_agree_with_trying_all_words(seed: int) -> None:
    dfa = random_dfa(seed, states=1 + seed % 6, alphabet="ab")
    accepted = [word for word in all_words("ab") if dfa.accepts(word)]
    assert list(dfa.words(max_length=LONGEST)) == accepted
    assert [dfa.count_words(n) for n in range(LONGEST + 1)] == [
        sum(len(word) == n for word in accepted) for n in range(LONGEST + 1)
    ]
    assert dfa.shortest_accepted() == (accepted[0] if accepted else None)
    assert dfa.is_empty == (not accepted)  # a shortest word has fewer symbols than states
    assert [word in dfa for word in all_words("ab")] == [dfa.accepts(w) for w in all_words("ab")]


def test_counts_are_exact_beyond_64_bits() -> None:
    assert DFA.from_regex("[ab]*").count_words(200) == 2**200


def test_finite_languages_end_and_infinite_ones_go_on() -> None:
    assert list(DFA.from_regex("ab?|c{3}").words()) == ["a", "ab", "ccc"]
    assert list(islice(DFA.from_regex("(ab)*").words(), 3)) == ["", "ab", "abab"]
    assert list(DFA.from_regex("(?!)", alphabet="a").words()) == []
    assert DFA.from_regex("(?!)", alphabet="a").is_empty


@pytest.mark.parametrize("seed", range(20))
def test_inclusion_agrees_with_trying_all_words(seed: int) -> None:
    one = random_dfa(seed, states=3, alphabet="ab")
    two = (
        one | random_dfa(100 + seed, states=2, alphabet="ab")
        if seed % 2
        else random_dfa(200 + seed, states=3, alphabet="ab")
    )
    inside = all(two.accepts(word) for word in all_words("ab") if one.accepts(word))
    assert (one <= two) == inside
    assert (two >= one) == inside
    assert (one < two) == (inside and one != two)


def test_other_symbols_are_in_no_language_and_labels_are_refused() -> None:
    dfa = DFA.from_regex("a*")
    assert "b" not in dfa
    with pytest.raises(SettingError, match="length must be >= 0"):
        dfa.count_words(-1)
    labelled = DFA(alphabet=("a",), transitions=np.array([[0]]), outputs=("spam",))
    with pytest.raises(AutomatonError, match="requires outputs True and False"):
        assert "a" in labelled
    with pytest.raises(AutomatonError, match="requires outputs True and False"):
        assert labelled.is_empty
    with pytest.raises(AutomatonError, match="requires outputs True and False"):
        next(labelled.words())


PATTERNS = [
    "", "a", "ab|ba", "(a|b)*abb", "a+b?", "[ab]{2}", "a{2,3}", "a{,2}b", "(?:ab){1,}", "[^a]*",
    "a.b", "(a|)b", "[a-b]+", r"\.", "(a*)*", "((a|b)(a|b))*", "a{0}b", "[]a]", "[a-]",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_mean_what_re_says(pattern: str) -> None:
    alphabet = "ab.-]"
    dfa = DFA.from_regex(pattern, alphabet=alphabet)
    compiled = re.compile(pattern, re.DOTALL)
    for word in all_words(alphabet, 4):
        assert dfa.accepts(word) == (compiled.fullmatch(word) is not None), word


@pytest.mark.parametrize("seed", range(15))
def test_what_to_regex_wrote_is_read_again(seed: int) -> None:
    dfa = random_dfa(seed, states=2 + seed % 5, alphabet="ab")
    assert DFA.from_regex(dfa.to_regex(), alphabet="ab") == dfa


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "missing '\\)'"),
        ("a)", "unbalanced"),
        ("*a", r"unexpected '\*'"),
        ("a**", "one repetition follows another"),
        ("a+?", "one repetition follows another"),
        ("[a", "missing ']'"),
        ("[b-a]", "a range must go"),
        ("a{3,2}", "at least 3 and at most 2"),
        ("a{x}", "expected {m}"),
        ("^a", "the whole word must match anyway"),
        ("(?=a)", "only groups"),
        (r"(a)\1", r"\\1 is not supported"),
        ("a\\", "ends in a backslash"),
        (".", "give alphabet="),
        ("[^a]", "give alphabet="),
        ("", "no symbols; give alphabet="),
        ("(" * 300 + "a" + ")" * 300, "nested deeper"),
        ("(((a{99}){99}){99})", "more than 20,000 states"),
        ("(a|b)*a(a|b){20}", "more than 20,000 states"),
        ("a{9999999999}", "expected {m}"),
    ],
)
def test_what_is_no_regular_expression_is_named(pattern: str, message: str) -> None:
    with pytest.raises(AutomatonError, match=message):
        DFA.from_regex(pattern)


# -- symbols, labels and names that break things ---------------------------------------------------

STRANGE = "a\0b\x1b[31m\n\ud800\uffff"


def test_control_characters_in_names_are_drawn_escaped() -> None:
    table = {STRANGE: {STRANGE: STRANGE, "\0": "end"}, "end": {STRANGE: "end", "\0": "end"}}
    dfa = DFA.from_table(table, start=STRANGE, outputs={STRANGE: "\0", "end": "ok"})
    ElementTree.fromstring(dfa._repr_svg_())
    assert "\0" not in dfa.to_dot() + dfa.to_mermaid()
    machine = CounterMachine.from_rule(
        lambda state, clipped, symbol: (state, 1),
        start=STRANGE, alphabet=(STRANGE,), accept={(STRANGE, 0)},
    )  # fmt: skip
    ElementTree.fromstring(machine._repr_svg_())


def nested(depth: int) -> object:
    symbol: object = "a"
    for _ in range(depth):
        symbol = (symbol,)
    return symbol


@pytest.mark.parametrize("symbol", [nested(900), nested(51), float("nan"), (1, float("nan"))])
def test_symbols_that_cannot_be_compared_are_refused(symbol: object) -> None:
    with pytest.raises(AutomatonError, match="cannot be a symbol"):
        DFA(alphabet=(symbol,), transitions=np.array([[0]]), outputs=(True,))
    with pytest.raises(AutomatonError, match="cannot be an output"):
        DFA(alphabet=("a",), transitions=np.array([[0]]), outputs=(symbol,))
    with pytest.raises(AlphabetError, match="cannot be a symbol"):
        Alphabet([symbol])


def test_symbols_nested_in_json_are_refused() -> None:
    document = {"format": "kleene.dfa/1", "start": 0, "outputs": [True], "transitions": [[0]]}
    for text in ("[" * 900 + "]" * 900, "NaN"):
        with pytest.raises(AutomatonError, match="no symbol or label"):
            DFA.from_json({**document, "alphabet": [json.loads(text)]})
        with pytest.raises(AlphabetError, match="cannot be a symbol"):
            Alphabet.from_json('{"format": "kleene.alphabet/1", "symbols": [' + text + "]}")
