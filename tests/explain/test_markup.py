"""Sequences with marks, as a terminal shows them."""

from __future__ import annotations

import re

from kleene.explain.markup import marked_lines

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def test_marks_stand_below_the_symbols_they_are_about() -> None:
    lines = marked_lines("0100", [0.0, -0.5, 0.1, 1.0], "")
    assert lines == ["0100", " =+#"]
    lines = marked_lines(["not", "bad", "at"], [0.03, 1.0, -0.2])
    assert lines == ["not bad at", "    ### --"]


def test_colours_hold_the_same_text_in_lines_that_fit() -> None:
    words = ["état", "日本", "x"] * 9
    weights = [1.0, 0.0, -1.0] * 9
    plain = marked_lines(words, [0.0] * 27, width=30)
    colored = marked_lines(words, weights, width=30, colors=True)
    assert [ANSI.sub("", line) for line in colored] == plain
    assert max(map(len, plain)) <= 30
    assert " ".join(plain).split() == words


def test_a_path_has_a_state_before_and_after_every_symbol() -> None:
    lines = marked_lines("1101", [0, 0, 1, 0], states=[0, 0, 0, 12, 12])
    symbols, marks, states = (line[10:] for line in lines)
    assert symbols.split() == list("1101")
    assert states.split() == ["0", "0", "0", "12", "12"]
    assert symbols.rindex("0") == marks.index("#") == states.index("12")
    wrapped = marked_lines("01" * 40, [0] * 80, states=[0] * 81, width=40)
    assert max(map(len, wrapped)) <= 40
    assert sum(line.count("0") for line in wrapped if line.startswith("state")) == 81
