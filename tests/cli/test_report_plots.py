"""`kleene report --plot`: pictures of the right kind, of the right words."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from shell import Kleene, assert_one_clear_line

from kleene.data.alphabet import Alphabet
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig

TRAJECTORIES = ("--plot", "trajectories", "--sequence")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=7, num_classes=2, cell="lstm-p", input_size=4, hidden_size=6, num_states=3
    )
    untrained = Model(network=Classifier(config), alphabet=Alphabet("ab("), classes=("no", "yes"))
    return untrained.save(tmp_path / "model")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "words.tsv"
    path.write_text("ab\tyes\nba\tno\naab\tyes\nb\tno\naaa\tyes\n")
    return path


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG\r\n"), ("svg", b"<?xml")])
def test_pictures(
    kleene: Kleene, model: Path, data: Path, tmp_path: Path, ending: str, start: bytes
) -> None:
    out = tmp_path / f"x.{ending}"
    for asked in ((*TRAJECTORIES, "a(b"), (data, "--plot", "tsne")):
        outcome = kleene("report", model, *asked, "--out", out)
        assert outcome.status == 0
        assert outcome.out.strip() == str(out)
        assert out.read_bytes().startswith(start)
        out.unlink()


@pytest.mark.parametrize(
    "asked",
    [
        (*TRAJECTORIES, "ab", "--out", "x.bmp"),
        (*TRAJECTORIES, ""),
        ("--plot", "trajectories"),
        ("words.tsv", "--sequence", "ab"),
        ("one.tsv", "--plot", "tsne"),
    ],
    ids=" ".join,
)
def test_mistakes(
    kleene: Kleene, model: Path, data: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...]
) -> None:
    monkeypatch.chdir(data.parent)
    (data.parent / "one.tsv").write_text("ab\tyes\n")
    assert_one_clear_line(kleene("report", model, *asked))
