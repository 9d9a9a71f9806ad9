"""Every command, given a wrong file for each of its files: one clear line, status 2."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import Kleene, assert_one_clear_line

from kleene.cli.app import COMMANDS

ON_DATA = (
    *("train X --out m", "evaluate model X", "predict model X", "extract model --data X"),
    *("induce X", "match dfa.json X", "serve model --data X --port 0"),
    *("explain model --file X", "explain model --prototypes X", "explain model --phrases X"),
    *("report model X --out r.html", "report model X --plot tsne --out t.png"),
)
ON_MODELS = (
    *("evaluate X data.tsv", "predict X data.tsv", "extract X", "certify X", "robust X 01"),
    *("verify X dfa.json proof.json", "explain X 01", "report X data.tsv", "serve X --port 0"),
    "export X --out o.onnx",
)
ON_DOCUMENTS = (
    *("compare X dfa.json", "compare dfa.json X", "match X data.tsv", "certify model X"),
    *("verify model X proof.json", "verify model dfa.json X", "export X --out o.c"),
    *("robust model 01 --certificate X", "predict model data.tsv --proof X"),
    *("serve model --proof X --port 0", "extract X.onnx --alphabet 01"),
)
WITHOUT_FILES = {"demo", "sample"}


@pytest.fixture(scope="module")
def place(folder: Path) -> Path:
    """The folder of a small model, with wrong files beside it."""
    (folder / "png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    (folder / "empty").touch()
    (folder / "directory").mkdir()
    (folder / "table.csv").write_text("a,b,c\nfoo,bar,1\nx,y,2\n")
    (folder / "dfa.json").write_bytes((folder / "truth.json").read_bytes())
    (folder / "proof.json").write_text("{}")  # never reached
    return folder


@pytest.mark.parametrize("wrong", ["missing", "png", "empty", "directory"])
@pytest.mark.parametrize("command", [*ON_DATA, *ON_MODELS, *ON_DOCUMENTS])
def test_a_wrong_file(
    kleene: Kleene, place: Path, monkeypatch: pytest.MonkeyPatch, command: str, wrong: str
) -> None:
    monkeypatch.chdir(place)
    asked = [word.replace("X", wrong) if word[0] == "X" else word for word in command.split()]
    assert_one_clear_line(kleene(*asked))


@pytest.mark.parametrize("command", ON_DATA)
def test_a_missing_column(
    kleene: Kleene, place: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(place)
    outcome = kleene(*command.replace("X", "table.csv").split(), "--text-column", "nowhere")
    assert_one_clear_line(outcome)
    assert "no column is called 'nowhere' among 'a', 'b', 'c'" in outcome.err


def test_every_command_with_files_is_tried() -> None:
    tried = {command.split()[0] for command in (*ON_DATA, *ON_MODELS, *ON_DOCUMENTS)}
    assert tried | WITHOUT_FILES == {command.__name__ for command in COMMANDS}
