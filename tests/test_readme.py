"""What README.md shows is true: its Python runs, its commands exist, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kleene.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    lines = (
        line.partition("  #")[0].strip() for block in blocks("sh") for line in block.split("\n")
    )
    return [line for line in lines if line.startswith("kleene ")]


def test_there_is_something_to_check() -> None:
    assert blocks("python")
    assert len(commands()) > 8


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_python_blocks_run(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("python")[number], f"README.md, Python block {number + 1}", "exec"), {})


@pytest.mark.parametrize("line", commands())
def test_commands_have_the_options_shown(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(re.split(r"[|>]", line)[0])[1:]
    name = words[:2] if words[0] in ("languages", "plot") else words[:1]
    assert main([*name, "--help"]) == 0
    help_text = capsys.readouterr().out
    for option in (word for word in words if word.startswith("-") and word != "-"):
        assert re.search(rf"(^|[\s,]){option}\b", help_text, re.MULTILINE)


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists()


def test_folders_that_contributors_read_of_are_there() -> None:
    tree = re.findall(r"^```text\n(.*?)^```", CONTRIBUTING, re.MULTILINE | re.DOTALL)[0]
    shown = re.findall(r"^(?:  )?([a-z]+/)\s", tree, re.MULTILINE)
    assert len(shown) > 15
    for name in shown:
        assert any((base / name).is_dir() for base in (ROOT, ROOT / "src" / "kleene"))


def test_tables_are_those_of_the_results() -> None:
    script = ROOT / "experiments" / "tables.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
