"""What decides an automaton's label, checked by trying all short words."""

from __future__ import annotations

from itertools import product

import pytest

import kleene as kl
from kleene import DFA
from kleene.report.deciding import MAX_LISTED, deciding_sequences, label_changes

WORDS = ["".join(letters) for n in range(9) for letters in product("01", repeat=n)]
ENDS = DFA.from_table(
    {q: {"0": "b", "1": {"a": "a", "b": "c", "c": "a"}[q]} for q in "abc"}, start="a", accept={"c"}
)  # words that end in 01
EVEN = kl.languages.tomita(5).dfa


def always(dfa: DFA, where: str, part: str) -> set[object]:
    """The labels of all short words for which a sequence should decide."""
    fits = {
        "anywhere": lambda word: part in word,
        "at the start": lambda word: word.startswith(part),
        "at the end": lambda word: word.endswith(part),
    }[where]
    return {dfa.run(word) for word in WORDS if fits(word)}


@pytest.mark.parametrize("dfa", [*(kl.languages.tomita(n).dfa for n in range(1, 8)), ENDS])
def test_what_decides_does(dfa: DFA) -> None:
    for label, listed in deciding_sequences(dfa, (False, True)).items():
        assert len(listed) <= MAX_LISTED
        for one in listed:
            assert always(dfa, one["where"], "".join(one["symbols"])) <= {label == "True"}


def test_the_shortest_are_found_and_nothing_where_nothing_decides() -> None:
    found = deciding_sequences(kl.languages.tomita(4).dfa, (False, True))
    assert found["False"] == [{"symbols": ["0", "0", "0"], "where": "anywhere"}]
    found = deciding_sequences(ENDS, (False, True))
    assert found["True"] == [{"symbols": ["0", "1"], "where": "at the end"}]
    assert deciding_sequences(EVEN, (False, True)) == {"False": [], "True": []}


def test_symbols_that_change_nothing_have_no_weight() -> None:
    dfa = kl.languages.tomita(4).dfa
    assert dfa is not None
    assert label_changes(dfa, "10001", False) == [0, 0, 0, 1, 0]
    assert label_changes(dfa, "1001", True) == [0, 0, 0, 0]
    assert label_changes(dfa, "0110", True) is not None
    assert label_changes(dfa, "01x", True) is None  # not a word of the automaton
    assert label_changes(dfa, "000", True) is None  # the network answers otherwise
    assert label_changes(EVEN, "00", True) == [-1, 1]
