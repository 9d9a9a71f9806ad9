"""Symbols, labels and names that break things."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from kleene import DFA
from kleene.automata.counter.machine import CounterMachine
from kleene.data.alphabet import Alphabet
from kleene.errors import AlphabetError, AutomatonError

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
