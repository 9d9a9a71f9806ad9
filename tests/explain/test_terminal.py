"""Sequences with marks, as a terminal shows them."""

from __future__ import annotations

import re

from kleene.explain.terminal import deciding_step, marked_path, marked_text

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def test_marks_stand_below_the_symbols_they_are_about() -> None:
    lines = marked_text("0100", [0.0, -1.0, 0.2, 2.0], "", width=80, colors=False)
    assert lines == ["0100", " =+#"]
    lines = marked_text(["not", "bad", "at"], [0.1, 3.0, -0.5], " ", width=80, colors=False)
    assert lines == ["not bad at", "    ### --"]


def test_colours_hold_the_same_text_in_lines_that_fit() -> None:
    words = ["état", "日本", "x"] * 9
    weights = [1.0, 0.0, -1.0] * 9
    plain = marked_text(words, [0.0] * 27, " ", width=30, colors=False)
    colored = marked_text(words, weights, " ", width=30, colors=True)
    assert [ANSI.sub("", line) for line in colored] == plain
    assert max(map(len, plain)) <= 30
    assert " ".join(plain).split() == words


def test_a_path_has_a_state_before_and_after_every_symbol() -> None:
    lines = marked_path("1101", [0, 0, 9, 0], [0, 0, 0, 12, 12], width=80, colors=False)
    symbols, marks, states = (line[10:] for line in lines)
    assert symbols.split() == list("1101")
    assert states.split() == ["0", "0", "0", "12", "12"]
    assert symbols.rindex("0") == marks.index("#") == states.index("12")
    wrapped = marked_path("01" * 40, [0] * 80, [0] * 81, width=40, colors=False)
    assert max(map(len, wrapped)) <= 40
    assert sum(line.count("0") for line in wrapped if line.startswith("state")) == 81


def test_the_deciding_step_is_the_last_that_changed_the_label() -> None:
    labels = ["yes", "no", None]
    assert deciding_step([0, 0, 1, 1], labels, "no") == 2
    assert deciding_step([0, 1, 0, 1], labels, "no") == 3
    assert deciding_step([0, 0], labels, "yes") == 0
    assert deciding_step([0, 2], labels, "yes") == -1
