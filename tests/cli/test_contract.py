"""What holds for every command: help with an example, status, one line for a mistake."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from shell import Kleene, assert_one_clear_line, start

from kleene.cli.app import COMMANDS, RENAMED
from kleene.languages import by_name

NAMES = [command.__name__ for command in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_help_fits_a_terminal_and_has_an_example_of_the_command(
    kleene: Kleene, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = kleene(name, "--help")
    assert outcome.status == 0
    assert max(map(len, outcome.out.splitlines())) <= 80
    example = outcome.out.partition("Example:")[2].partition("Options:")[0]
    assert f"kleene {name}" in example


def test_without_arguments_it_shows_where_to_begin(kleene: Kleene) -> None:
    outcome = kleene()
    assert outcome.status == 0
    assert re.findall(r"^  kleene (\w+)", outcome.out, re.MULTILINE) == ["demo", "train", "report"]
    assert "kleene --help" in outcome.out


def test_help_lists_all_commands(kleene: Kleene) -> None:
    listed = kleene("--help").out.partition("Commands:\n")[2]
    assert re.findall(r"^  (\w+)", listed, re.MULTILINE) == NAMES
    assert len(NAMES) == 16


@pytest.mark.parametrize("name", RENAMED)
def test_an_earlier_command_names_the_new_one(kleene: Kleene, name: str) -> None:
    for arguments in ((name,), (name, "model", "--out", "x"), (name, "--help")):
        outcome = kleene(*arguments)
        assert_one_clear_line(outcome)
        new = re.search(r"`kleene (\w+)", outcome.err.partition("is gone")[2])
        assert new is None if name == "reproduce" else new[1] in NAMES


def test_options_of_train_have_headings(kleene: Kleene) -> None:
    text = kleene("train", "--help").out
    headings = re.findall(r"^(\S.*):$", text, re.MULTILINE)
    assert headings == ["Arguments", "Options", "Columns of DATA", "Network", "Training"]
    assert "--epochs" in text.partition("\nTraining:")[2]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, tmp_path: Path) -> None:
    def complete(words: str) -> str:
        instruction = {"_KLEENE_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": words}
        asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        fish = {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}
        process = start(environment={**instruction, **asked, **fish})
        return process.communicate(timeout=60)[0]

    assert "extract" in complete("kleene ex")
    assert "--search-seconds" in complete("kleene train --search")


NO_DETECTION = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
"""The shell is the one that is named, not the one that the tests were started from."""


def test_completion_is_installed(tmp_path: Path) -> None:
    process = start(
        "--install-completion", "bash", environment={"HOME": str(tmp_path), **NO_DETECTION}
    )
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    script = tmp_path / ".bash_completions" / "kleene.sh"
    assert "_KLEENE_COMPLETE" in script.read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("train",),
        ("train", "data.tsv"),
        ("train", "data.tsv", "--out", "m", "--epochs", "many"),
        ("train", "data.tsv", "--out", "m", "--consolidate"),
        ("extract", "no/such/folder", "--out", "dfa.xyz"),
        ("sample",),
        ("sample", "klingon"),
        ("sample", "tomita1", "--lengths", "a:b"),
        ("sample", "reviews", "--lengths", "0:3"),
        ("sample", "palindromes", "--dfa"),
        ("explain", "no/such/folder"),
        ("explain", "no/such/folder", "01", "-n", "2"),
        ("report", "no/such/folder"),
        ("report", "no/such/folder", "data.tsv", "--sequence", "01"),
        ("extract", "no/such/folder", "--alphabet", "a b"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_one_line_and_status_2(kleene: Kleene, arguments: tuple[str, ...]) -> None:
    assert_one_clear_line(kleene(*arguments))


def test_debug_shows_where_an_error_came_from(kleene: Kleene) -> None:
    outcome = kleene("compare", "no.json", "no.json", "--debug")
    assert outcome.status == 2
    assert "Traceback" in outcome.err


def test_a_reader_that_has_had_enough_is_no_error(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("10\n" * 200_000)
    dfa = tmp_path / "dfa.json"
    by_name("tomita2").dfa.save(dfa)  # type: ignore[union-attr]
    process = start("match", dfa, words)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "True\n"
    process.stdout.close()
    assert process.wait() == 0
    assert process.stderr.read() == ""
    process.stderr.close()


def test_a_full_disk_behind_standard_output_is_said(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        process = start("sample", "tomita1", stdout=full)
        _, err = process.communicate()
    assert process.returncode == 2
    assert err.count("\n") == 1
    assert "No space left" in err
