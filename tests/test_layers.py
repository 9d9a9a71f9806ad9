"""Imports go one way: a module may use its own layer and those before it, and nothing after.

Nor do modules of one folder import one another in a circle.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
LAYERS = (
    *("base", "engines", "automata", "languages", "data", "datasets", "nn", "export"),
    *("evaluation", "training", "model", "passes", "proof", "induction", "extraction", "explain"),
    *("estimator", "report", "web", "cli"),
)
FILES = {  # layers that are no single package
    "base": ("errors", "config", "arrays", "files", "machine", "distributed"),
    "model": ("select", "model_folder", "model", "settings"),
    "estimator": ("fitting", "estimator"),
}
PLACES = {name: LAYERS.index(layer) for layer in LAYERS for name in FILES.get(layer, (layer,))}
PLACES |= {"": PLACES["cli"], "__main__": PLACES["cli"]}  # "" is the package's own list of names
FORBIDDEN = {"automata": ("torch", "kleene.nn"), "nn": ("kleene.automata",)}


def place(module: str) -> str:
    """Where a module stands: `nn` of `kleene.nn.scan`."""
    return module.removeprefix("kleene").removeprefix(".").split(".")[0]


def imports(path: Path, root: Path) -> Iterator[str]:
    """Every module that a file imports anywhere, functions and type checking included."""
    package = path.relative_to(root).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                if alias.name == "__version__":  # a plain value, at home in the package itself
                    continue
                inner = root.joinpath(*base.split("."), alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").exists()
                yield f"{base}.{alias.name}" if is_module else base


def wrong_imports(root: Path) -> list[str]:
    found = []
    for path in sorted(root.glob("kleene/**/*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        own = "" if parts[1:] == ("__init__",) else place(".".join(parts))
        if own not in PLACES:
            found.append(f"{path.name}: {own} has no place in LAYERS; give it one")
            continue
        for module in imports(path, root):
            other = PLACES.get(place(module), len(LAYERS))
            against = module.split(".")[0] == "kleene" and other > PLACES[own]
            banned = any(f"{module}.".startswith(f"{b}.") for b in FORBIDDEN.get(own, ()))
            if against or banned:
                found.append(f"{'.'.join(parts)} imports {module}")
    return found


def cycles(root: Path) -> list[set[str]]:
    """Groups of modules that import one another, wherever in the file the import stands."""
    files = {}
    for path in sorted(root.glob("kleene/**/*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {name: set(imports(path, root)) & set(files) - {name} for name, path in files.items()}
    reached = {name: reachable(graph, name) for name in graph}
    groups = ({m for m in reached[n] if n in reached[m]} for n in graph if n in reached[n])
    return [set(group) for group in dict.fromkeys(map(frozenset, groups))]


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """The modules that one imports, directly or through others."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def test_no_modules_import_one_another() -> None:
    assert cycles(SOURCE) == []


def test_a_cycle_is_found(tmp_path: Path) -> None:
    texts = {
        "a": "def f():\n    from kleene.data import b",
        "b": "from kleene.data.c import x",
        "c": "if TYPE_CHECKING:\n    from . import a",
        "d": "from kleene.data import a",
    }
    for name, text in texts.items():
        file = tmp_path / "kleene/data" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert cycles(tmp_path) == [{"kleene.data.a", "kleene.data.b", "kleene.data.c"}]


def test_the_order_is_the_one_that_contributors_read() -> None:
    text = (SOURCE.parent / "CONTRIBUTING.md").read_text()
    assert f"`{' < '.join(LAYERS)}`" in " ".join(text.split())
    for layer, modules in FILES.items():
        assert f"`{layer}` is {', '.join(modules)}" in text


def test_no_module_imports_against_the_direction() -> None:
    assert wrong_imports(SOURCE) == []


@pytest.mark.parametrize(
    ("path", "text", "wrong"),
    [
        ("data/batch.py", "def f():\n    from kleene.nn.scan import scan", 1),
        ("data/batch.py", "from kleene import nn", 1),
        ("data/batch.py", "from ..nn import scan", 1),
        ("data/batch.py", "import kleene.nn.scan as s", 1),
        ("data/batch.py", "from kleene import SequenceClassifier", 1),
        ("data/batch.py", "if TYPE_CHECKING:\n    from kleene.training.loop import fit", 1),
        ("automata/dfa.py", "import torch.nn", 1),
        ("automata/dfa.py", "from torch import Tensor", 1),
        ("nn/scan.py", "from kleene.automata.dfa import DFA", 1),
        ("training/loop.py", "from kleene.extraction.extract import extract", 1),
        ("report/html.py", "from kleene import cli", 1),
        ("utils.py", "", 1),
        ("data/batch.py", "from kleene.errors import DataError\nimport torch", 0),
        ("data/batch.py", "from .alphabet import Alphabet\nfrom kleene import languages", 0),
        ("nn/scan.py", "from kleene.data.alphabet import END", 0),
        ("report/html.py", "from kleene import __version__", 0),
        ("cli.py", "import kleene\nfrom kleene import SequenceClassifier", 0),
        ("__init__.py", "from kleene.estimator import SequenceClassifier", 0),
    ],
)
def test_wrong_imports_are_found(tmp_path: Path, path: str, text: str, wrong: int) -> None:
    for name in ("nn/scan.py", "languages/__init__.py", "data/alphabet.py", "cli.py", path):
        file = tmp_path / "kleene" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text if name == path else "")
    assert len(wrong_imports(tmp_path)) == wrong


def test_readers_ask_the_model_how_it_can_be_read() -> None:
    """Nothing else decides by the kind of network; two methods say why they do not apply."""

    for folder in ("extraction", "report", "web", "cli"):
        for path in sorted((SOURCE / "kleene" / folder).rglob("*.py")):
            decides = re.search(
                r"if .*\b(has_memory|config\.pooling|regularized)\b", path.read_text()
            )
            assert not decides, path


def test_test_files_have_names_of_their_own() -> None:
    """Pytest imports them by their bare names, so that two of one name cannot be collected."""
    names = Counter(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
