"""`kleene extract` of networks that were trained elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from shell import Kleene

import kleene as kl


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "has_bb.py").write_text(
        "def classify(words):\n    return ['bb' in ''.join(word) for word in words]\n"
    )
    random = np.random.default_rng(0)
    rows = ["".join(random.choice(["a", "b"], random.integers(1, 12))) for _ in range(200)]
    (tmp_path / "words.tsv").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_a_python_object_is_read_and_drawn(kleene: Kleene, words: Path) -> None:
    outcome = kleene(
        *("extract", "has_bb:classify", "--data", "words.tsv", "--json"),
        *("--out", "dfa.json"),
    )
    assert outcome.status == 0
    answer = json.loads(outcome.out)
    assert answer["states"] == 3
    assert answer["held_out_error"] == 0
    assert kl.DFA.load(words / "dfa.json").accepts("abba")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["has_bb:classify"], "alphabet is not known"),
        (["has_bb:nothing", "--data", "words.tsv"], "cannot import has_bb:nothing"),
        (["has_bb:classify", "--data", "words.tsv", "--method", "lstar"], "--method"),
        ([".", "--alphabet", "a b"], "trained elsewhere"),
        (["words.onnx", "--data", "words.tsv"], "not an ONNX model"),
    ],
)
def test_mistakes_are_one_line_and_status_2(
    kleene: Kleene, words: Path, options: list[str], message: str
) -> None:
    outcome = kleene("extract", *options)
    assert outcome.status == 2
    assert message in outcome.err.splitlines()[-1]
