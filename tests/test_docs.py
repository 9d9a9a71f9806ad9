"""The documentation is true: links lead somewhere, examples run, generated pages are current."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("**/*.md"))
SLOW = {"first-automaton.md"}
"""Pages whose examples train a network with default settings."""
NOT_RUN = {"export.md"}
"""Pages whose examples need files that their shell commands make; tested with those commands."""


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def examples() -> list[object]:
    pages = [p for p in PAGES if python_blocks(p) and p.name not in NOT_RUN]
    return [
        pytest.param(p, id=p.stem, marks=[pytest.mark.slow] if p.name in SLOW else [])
        for p in pages
    ]


@pytest.mark.parametrize("page", examples())
def test_examples_run_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, block in enumerate(python_blocks(page)):
        exec(compile(block, f"{page.name}, block {number + 1}", "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in PAGES:
        place = page.relative_to(ROOT / "docs")
        assert str(place) in navigation, place


def test_the_reference_names_what_exists() -> None:
    page = (ROOT / "docs" / "reference" / "api.md").read_text()
    names = re.findall(r"^::: (\S+)", page, re.MULTILINE)
    assert len(names) > 20
    for name in names:
        parent, _, last = name.rpartition(".")
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(parent), last), name


def test_the_page_of_commands_is_what_help_says() -> None:
    script = ROOT / "experiments" / "command_reference.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
