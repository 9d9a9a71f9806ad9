"""What README.md and CONTRIBUTING.md show is true; `test_docs.py` checks the commands."""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_there_is_something_to_check() -> None:
    assert blocks("python")
    assert len(README.splitlines()) <= 100, "two screens"
    assert len(CONTRIBUTING.splitlines()) <= 100


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_python_blocks_run(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("python")[number], f"README.md, Python block {number + 1}", "exec"), {})


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists()


def test_folders_that_contributors_read_of_are_there() -> None:
    tree = re.findall(r"^```text\n(.*?)^```", CONTRIBUTING, re.MULTILINE | re.DOTALL)[0]
    shown = re.findall(r"^(?:  )?([a-z]+/)\s", tree, re.MULTILINE)
    assert len(shown) > 15
    for name in shown:
        assert any((base / name).is_dir() for base in (ROOT, ROOT / "src" / "kleene"))


def test_the_walk_of_a_sequence_names_functions_that_exist() -> None:
    rows = re.findall(r"^\| ([a-z]+) \| (`.*?`) \|", CONTRIBUTING, re.MULTILINE)
    functions = [
        f"{package}.{name}" for package, names in rows for name in names[1:-1].split("`, `")
    ]
    assert 10 <= len(functions) <= 15
    assert len({package for package, _ in rows}) == len(rows)
    for name in functions:
        pkgutil.resolve_name(f"kleene.{name}")


def test_tables_are_those_of_the_results() -> None:
    script = ROOT / "experiments" / "tables.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
