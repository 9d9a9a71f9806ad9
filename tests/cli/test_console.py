"""What is printed: escaped where it could steer a terminal, wrapped where it is too wide."""

from __future__ import annotations

import os
import re
import sys

import pytest
from shell import Kleene

from kleene.cli.console import (
    answer,
    answer_json,
    answer_lines,
    answer_table,
    escaped,
    wrapped,
)


def test_control_characters_are_shown_not_sent() -> None:
    assert escaped("a\x1b[31mb\x07\x9bc\u202ed") == r"a\x1b[31mb\x07\x9bc\u202ed"
    assert escaped("täglich\t日本\n") == "täglich\t日本\n"


def test_messages_escape_what_they_quote(kleene: Kleene) -> None:
    outcome = kleene("predict", "no\x1b[2Jmodel", "data.tsv")
    assert outcome.status == 2
    assert "\x1b" not in outcome.err
    assert r"no\x1b[2Jmodel" in outcome.err


def test_lines_break_between_words_and_keep_their_column() -> None:
    line = "done     " + "; ".join(["found a machine"] * 4)
    lines = wrapped(line, 40).split("\n")
    assert all(len(part) <= 40 for part in lines)
    assert all(part.startswith(" " * 9) for part in lines[1:])
    assert " ".join(" ".join(lines).split()) == " ".join(line.split())


@pytest.mark.parametrize("width", [80, 120])
def test_the_list_of_commands_is_not_cut(
    kleene: Kleene, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    listed = kleene("--help").out.partition("Commands:")[2]
    assert listed.strip()
    assert "..." not in listed


def test_a_terminal_gets_no_control_characters_of_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    with open(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        answer("\x1b[31mred\x1b[0m")
        answer_lines(["\x1b]0;title\x07"])
        answer_table(["label\x1b[2J"], [["\x9b1m"]])
        answer_json("\x7f")
        monkeypatch.undo()
        terminal.flush()
        written = ""
        while written.count("\n") < 5:
            written += os.read(ours, 4096).decode()
    os.close(ours)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", written)
    assert written.count("\\x") == 7
