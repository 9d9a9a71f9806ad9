"""Which moves words take, and drawings of those alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from random_automata import dfas

from kleene.automata import DFA
from kleene.automata.formats.drawing import diagram
from kleene.automata.table import known_words, moves_taken


@given(dfas(alphabet="abc"), st.lists(st.text("abc", max_size=8), max_size=6))
def test_moves_are_those_of_stepping_by_hand(dfa: DFA, words: list[str]) -> None:
    stepped = set()
    for word in words:
        state = dfa.start()
        for symbol in word:
            stepped.add((state, symbol))
            state = dfa.step(state, symbol)
    taken = moves_taken(dfa, words)
    found = {(state, dfa.alphabet[column]) for state, column in zip(*taken.nonzero(), strict=True)}
    assert found == stepped


@given(dfas(alphabet="abc"))
def test_without_words_every_move_counts(dfa: DFA) -> None:
    assert moves_taken(dfa, None).all()
    assert diagram(dfa) == diagram(dfa, words=None)


def orders() -> DFA:
    """Content until something is late; content again after a refund."""
    table = {
        "content": {"paid": "content", "late": "cross", "refunded": "content"},
        "cross": {"paid": "lost", "late": "cross", "refunded": "content"},
        "lost": {"paid": "lost", "late": "lost", "refunded": "lost"},
    }
    return DFA.from_table(table, start="content", accept={"content"})


def test_a_drawing_of_words_leaves_out_what_no_word_passes() -> None:
    words = [("paid", "late"), ("paid", "late", "refunded")]
    shown = diagram(orders(), words=words)
    assert shown.states == [0, 1]
    assert shown.edges == {(0, 0): "paid", (0, 1): "late", (1, 0): "refunded"}
    assert "lost" in orders().to_dot()
    for text in (orders().to_dot(words=words), orders().to_mermaid(words=words)):
        assert "refunded" in text
        assert "lost" not in text


def test_words_with_other_symbols_are_not_known() -> None:
    assert known_words(orders(), [("paid",), ("paid", "stolen"), ()]) == [("paid",), ()]
