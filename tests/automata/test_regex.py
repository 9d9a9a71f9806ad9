"""Regular expressions, against `re` over all words; symbols and names that break things."""

from __future__ import annotations

import json
import re
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest

from kleene import DFA
from kleene.automata.counter.machine import CounterMachine
from kleene.data.alphabet import Alphabet
from kleene.errors import AlphabetError, AutomatonError

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


def test_other_symbols_are_in_no_language_and_labels_are_refused() -> None:
    dfa = DFA.from_regex("a*")
    assert "aa" in dfa
    assert "b" not in dfa
    labelled = DFA(alphabet=("a",), transitions=np.array([[0]]), outputs=("spam",))
    with pytest.raises(AutomatonError, match="requires outputs True and False"):
        assert "a" in labelled


PATTERNS = [
    "", "a", "ab|ba", "(a|b)*abb", "a+b?", "[ab]{2}", "a{2,3}", "a{,2}b", "(?:ab){1,}", "[^a]*",
    "a.b", "(a|)b", "[a-b]+", r"\.", "(a*)*", "((a|b)(a|b))*", "a{0}b", "[]a]", "[a-]", "a{x}",
    "(?!)", "[^ab.]{2,}", "(?P<name>a|b)-", "(a|b|ab)?b{2}", "(a{2}){2}",
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
        ("(", "missing \\), unterminated"),
        ("a)", "unbalanced"),
        ("*a", "nothing to repeat"),
        ("a**", "multiple repeat"),
        ("a+?", "min_repeat is not supported"),
        ("a++", "possessive_repeat is not supported"),
        ("[a", "unterminated character set"),
        ("[b-a]", "bad character range"),
        ("a{3,2}", "min repeat greater"),
        ("^a", "the whole word must match anyway"),
        ("(?=a)", "assert is not supported"),
        ("(?!a)", "assert_not is not supported"),
        (r"(a)\1", "groupref is not supported"),
        (r"\w", "category_word is not supported"),
        ("(?i)a", "flags"),
        ("(?i:a)", "subpattern is not supported"),
        ("a\\", "bad escape"),
        (".", "give alphabet="),
        ("[^a]", "give alphabet="),
        ("[\0-\U0010ffff]", "needs alphabet="),
        ("", "no symbols; give alphabet="),
        ("(" * 3000 + "a" + ")" * 3000, "nested too deep"),
        ("(((a{99}){99}){99})", "more than 20,000 states"),
        ("(a|b)*a(a|b){20}", "more than 20,000 states"),
        ("a{9999999999}", "too long"),
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
