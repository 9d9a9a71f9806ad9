"""What holds for every command: help with an example, status, one line for a mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from shell import Kleene, assert_one_clear_line, start

from kleene.cli.app import COMMANDS
from kleene.cli.commands.languages import languages
from kleene.cli.commands.plot import plot
from kleene.languages import by_name

NAMES = [(command.__name__,) for command in COMMANDS] + [
    (group, command.name or command.callback.__name__)  # type: ignore[union-attr]
    for group, commands in (("languages", languages), ("plot", plot))
    for command in commands.registered_commands
]


@pytest.mark.parametrize("name", NAMES, ids=" ".join)
def test_help_has_an_example_of_the_command_itself(kleene: Kleene, name: tuple[str, ...]) -> None:
    outcome = kleene(*name, "--help")
    assert outcome.status == 0
    example = outcome.out.partition("Example:")[2].partition("Options:")[0]
    assert f"kleene {' '.join(name)}" in example


def test_without_arguments_it_shows_help(kleene: Kleene) -> None:
    outcome = kleene()
    assert outcome.status == 0
    assert all(f"\n  {name[0]} " in outcome.out for name in NAMES)


def test_help_does_not_wait_for_the_heavy_packages() -> None:
    code = (
        "import sys; from kleene.cli import main; main(['train', '--help']); "
        "print([m for m in ('torch', 'sklearn', 'numba', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("train",),
        ("train", "data.tsv"),
        ("train", "data.tsv", "--out", "m", "--epochs", "many"),
        ("predict", "no/such/folder", "-"),
        ("evaluate", ".", "-"),
        ("extract", "no/such/folder", "--out", "dfa.xyz"),
        ("compare", "no.json", "no.json"),
        ("match", "no.json", "-"),
        ("languages", "sample", "klingon"),
        ("languages", "sample", "tomita1", "--lengths", "a:b"),
        ("languages", "dfa", "palindromes"),
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
        process = start("languages", "sample", "tomita1", stdout=full)
        _, err = process.communicate()
    assert process.returncode == 2
    assert err.count("\n") == 1
    assert "No space left" in err
