"""Drawings: what they show, which moves words take, and nothing on standard error."""

import os
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_automata import dfas
from test_exports import big

from kleene.automata import DFA
from kleene.automata.formats.drawing import NOISE, _without, diagram
from kleene.automata.table import known_words, moves_taken
from kleene.errors import SettingError
from kleene.languages import tomita


@pytest.mark.parametrize(("states", "symbols"), [(2, 2), (5, 2), (50, 28)])
def test_a_drawing_shows_every_state_and_every_move(states, symbols):
    dfa = big(states, symbols)
    shown = diagram(dfa)
    assert shown.states == list(range(states))
    moves = {(s, t) for s, row in enumerate(dfa.rows) for t in row}
    noted = {(s, int(line.split(" → ")[1])) for s, lines in shown.notes.items() for line in lines}
    assert set(shown.edges) | noted == moves
    assert not set(shown.edges) & noted
    svg = ElementTree.fromstring(dfa._repr_svg_())
    titles = [t.text for t in svg.iter("{http://www.w3.org/2000/svg}title")]
    assert {str(state) for state in range(states)} <= set(titles)
    assert len([t for t in titles if "->" in t]) == len(shown.edges) + 1  # and the start arrow


def test_sinks_can_be_hidden():
    dfa = DFA.from_table({"p": {"a": "p"}}, start="p", accept={"p"}, alphabet=["a", "b"])
    assert "sink" in dfa.to_dot()
    assert "sink" not in dfa.to_dot(sink=False)
    assert "sink" in dfa.to_mermaid()
    assert "sink" not in dfa.to_mermaid(sink=False)


def test_drawings_are_files_of_their_format(tmp_path):
    dfa = big(5, 2)
    for ending, begin in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert dfa.draw(tmp_path / f"dfa.{ending}").read_bytes().startswith(begin)
    with pytest.raises(SettingError, match="svg, png, pdf"):
        dfa.draw(tmp_path / "dfa.bmp")


def test_awkward_names_and_symbols_survive_drawing():
    dfa = DFA.from_table(
        {'"q"': {'"': "<b>&", "\\": '"q"', "\n": '"q"'}, "<b>&": {}}, start='"q"', accept={"<b>&"}
    )
    svg = "".join(ElementTree.fromstring(dfa._repr_svg_()).itertext())
    for text in ('"q"', "<b>&", "\\"):
        assert text in svg
    assert '"' not in re.sub(r'"[^"]*"', "", dfa.to_mermaid())


def test_mermaid_marks_accepting_states_and_the_start():
    text = DFA.from_table({"p": {"a": "q"}, "q": {"a": "p"}}, start="p", accept={"q"}).to_mermaid()
    assert text.startswith("flowchart LR\n")
    for line in ('q0(("p"))', 'q1((("q")))', "start --> q0", 'q0 -->|"a"| q1'):
        assert f"  {line}\n" in text


@given(dfas(alphabet="abc"), st.lists(st.text("abc", max_size=8), max_size=6))
def test_moves_are_those_of_stepping_by_hand(dfa, words):
    stepped = set()
    for word in words:
        state = dfa.start()
        for symbol in word:
            stepped.add((state, symbol))
            state = dfa.step(state, symbol)
    assert moves_taken(dfa, None).all()
    taken = moves_taken(dfa, words)
    found = {(state, dfa.alphabet[column]) for state, column in zip(*taken.nonzero(), strict=True)}
    assert found == stepped


def orders():
    """Content until something is late; content again after a refund."""
    table = {
        "content": {"paid": "content", "late": "cross", "refunded": "content"},
        "cross": {"paid": "lost", "late": "cross", "refunded": "content"},
        "lost": {"paid": "lost", "late": "lost", "refunded": "lost"},
    }
    return DFA.from_table(table, start="content", accept={"content"})


def test_a_drawing_of_words_leaves_out_what_no_word_passes():
    words = [("paid", "late"), ("paid", "late", "refunded")]
    shown = diagram(orders(), words=words)
    assert shown.states == [0, 1]
    assert shown.edges == {(0, 0): "paid", (0, 1): "late", (1, 0): "refunded"}
    assert "lost" in orders().to_dot()
    for text in (orders().to_dot(words=words), orders().to_mermaid(words=words)):
        assert "refunded" in text
        assert "lost" not in text


def test_words_with_other_symbols_are_not_known():
    assert known_words(orders(), [("paid",), ("paid", "stolen"), ()]) == [("paid",), ()]


def test_warnings_about_fonts_are_dropped(capfd):
    with _without(NOISE):
        os.write(2, b'Fontconfig warning: "a.conf", line 6\nError: no layout\n')
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "Error: no layout\nafter\n"
    assert "<svg" in tomita(4).dfa._repr_svg_()
    assert capfd.readouterr().err == ""
