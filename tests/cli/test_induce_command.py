"""`kleene induce`: the automaton in files and as an answer, without torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shell import Kleene, assert_one_clear_line

import kleene as kl


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    words, labels = kl.languages.tomita(4).sample(800, seed=0)
    path = tmp_path / "rows.tsv"
    path.write_text("".join(f"{w}\t{int(y)}\n" for w, y in zip(words, labels, strict=True)))
    return path


def test_the_automaton_is_written_in_every_format_named(
    kleene: Kleene, rows: Path, tmp_path: Path
) -> None:
    files = [tmp_path / "dfa.json", tmp_path / "dfa.svg"]
    outcome = kleene("induce", rows, "--out", files[0], "--out", files[1])
    assert outcome.status == 0
    assert "4-state automaton over 2 symbols, merged from the data" in outcome.out
    truth = kl.languages.tomita(4).dfa
    found = kl.DFA.load(files[0])
    assert {str(label) for label in found.outputs} == {"0", "1"}
    assert found == truth
    assert "<svg" in files[1].read_text()


def test_the_answer_is_json_and_has_no_more_states_than_asked_for(
    kleene: Kleene, rows: Path
) -> None:
    answer = json.loads(kleene("induce", rows, "--json", "--max-states", 2, "--seed", 3).out)
    assert answer["states"] <= 2
    assert answer["seed"] == 3
    assert answer["rows"] == 800
    assert answer["dfa"]["format"] == "kleene.dfa/1"


def test_it_asks_for_the_words_that_decide(kleene: Kleene, tmp_path: Path) -> None:
    """Every word with "ab" has "abc": the rows do not say which is the rule."""
    rows, given = tmp_path / "rows.tsv", ["abc", "cab", "acb", "bca", "ccc", "aabc", "bbab", "caac"]
    words = [(one + other).replace("ab", "abc") for one in given for other in given]
    rows.write_text("".join(f"{word}\t{int('ab' in word)}\n" for word in words * 5))
    told = kleene("induce", rows, "--ask", 3).out.splitlines()
    answer = json.loads(kleene("induce", rows, "--ask", 3, "--json").out)
    assert answer["alternatives"] > 0
    assert 0 < len(answer["questions"]) <= 3
    at = told.index(
        f"{answer['alternatives']} other automata explain the rows as well; "
        "label these words to decide:"
    )
    assert told[at + 1 :] == answer["questions"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--ask", "-1"),
        ("--seconds", "0"),
        ("--max-states", "0"),
        ("--out", "dfa.xyz"),
        ("--text-column", "none"),
    ],
)
def test_mistakes_get_one_line(kleene: Kleene, rows: Path, arguments: tuple[str, ...]) -> None:
    assert_one_clear_line(kleene("induce", rows, *arguments))
