"""README, CONTRIBUTING and the documentation are true: links, examples, commands, notebooks."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kleene import select
from kleene.cli.app import app

ROOT = Path(__file__).parents[1]
README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
PAGES = sorted((ROOT / "docs").glob("**/*.md"))
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials" / "notebooks").glob("*.ipynb"))
SOURCES = sorted((ROOT / "src").glob("**/*.py"))
WRITTEN = [README, *(page for page in PAGES if page.name != "commands.md")]
"""Pages that show commands and are not made from their help."""
SLOW = {"first-automaton.md", "own-data.md"}
"""Pages whose examples train a network with default settings."""
NOT_RUN = {"export.md"}
"""Pages whose examples need files that their shell commands make; tested with those commands."""


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def examples() -> list[object]:
    pages = [p for p in [README, *PAGES] if python_blocks(p) and p.name not in NOT_RUN]
    return [
        pytest.param(p, id=p.stem, marks=[pytest.mark.slow] if p.name in SLOW else [])
        for p in pages
    ]


@pytest.mark.parametrize("page", examples())
def test_examples_run_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "kleene sample reviews > reviews.csv" in page.read_text():
        assert CliRunner().invoke(app, ["sample", "reviews", "--out", "reviews.csv"]).exit_code == 0
    names: dict[str, object] = {}
    for number, block in enumerate(python_blocks(page)):
        exec(compile(block, f"{page.name}, block {number + 1}", "exec"), names)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # those of Jupyter's own parts
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "notebooks need `pip install nbclient ipykernel`"
    nbformat = pytest.importorskip("nbformat", reason=reason)
    nbclient = pytest.importorskip("nbclient", reason=reason)
    pytest.importorskip("ipykernel", reason=reason)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, resources=resources).execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")


def test_the_first_pages_are_short() -> None:
    for page in (README, CONTRIBUTING):
        assert len(page.read_text().splitlines()) <= 100, "two screens"


def test_folders_that_contributors_read_of_are_there() -> None:
    tree = re.findall(r"^```text\n(.*?)^```", CONTRIBUTING.read_text(), re.MULTILINE | re.DOTALL)[0]
    shown = re.findall(r"^(?:  )?([a-z]+/)\s", tree, re.MULTILINE)
    assert len(shown) > 15
    for name in shown:
        assert any((base / name).is_dir() for base in (ROOT, ROOT / "src" / "kleene"))


def test_the_walk_of_a_sequence_names_functions_that_exist() -> None:
    rows = re.findall(r"^\| ([a-z]+) \| (`.*?`) \|", CONTRIBUTING.read_text(), re.MULTILINE)
    functions = [
        f"{package}.{name}" for package, names in rows for name in names[1:-1].split("`, `")
    ]
    assert 10 <= len(functions) <= 15
    assert len({package for package, _ in rows}) == len(rows)
    for name in functions:
        pkgutil.resolve_name(f"kleene.{name}")


@pytest.mark.parametrize(
    "path", [p for p in SOURCES if ">>> " in p.read_text()], ids=lambda p: p.stem
)
def test_examples_in_docstrings_give_what_they_show(path: Path) -> None:
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


def anchors(page: Path) -> set[str]:
    """The names of the headings of a page, as links write them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.stem)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", page.read_text()):
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


def commands(page: Path) -> list[str]:
    """The lines of shell blocks and the inline code that call `kleene`."""
    text = page.read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.partition("  #")[0].strip() for block in blocks for line in block.split("\n")]
    inline = re.findall(
        r"`(kleene [a-z][^`]*)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    )
    return [line for line in (*lines, *inline) if re.match("kleene [a-z]", line)]


@cache
def help_of(command: str) -> str:
    shown = CliRunner().invoke(app, [command, "--help"])
    assert shown.exit_code == 0, f"kleene {command}"
    return shown.output


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_commands_have_the_options_shown(page: Path) -> None:
    for line in commands(page):
        words = shlex.split(re.split(r"[|>]", line)[0])[1:]
        text = help_of(words[0])
        for option in (word.partition("=")[0] for word in words[1:] if re.match("--?[a-z]", word)):
            assert re.search(rf"(^|[\s,]){option}\b", text, re.MULTILINE), line


def test_no_docstring_has_a_placeholder() -> None:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                assert not re.search(r"^\s*\{\w+\}\s*$", text, re.MULTILINE), (path, node)


def test_the_table_of_who_learns_is_the_one_in_the_code() -> None:
    page = (ROOT / "docs" / "explanation" / "learning.md").read_text()
    rows = r"^\| (\w+) \| (.+?) \| .+? \| (\w+) \|$"
    told, shown = (
        [row for row in re.findall(rows, text.replace("`", ""), re.MULTILINE) if row[0] != "learn"]
        for text in (select.__doc__ or "", page)
    )
    assert len(told) > 10
    assert shown == told


def test_the_site_asks_no_other_host() -> None:
    assert "http" not in (ROOT / "mkdocs.yml").read_text()


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


def test_the_reference_is_what_the_code_says() -> None:
    script = ROOT / "experiments" / "command_reference.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
