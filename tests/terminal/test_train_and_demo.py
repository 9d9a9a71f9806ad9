"""Training in a real terminal, where the progress bar is shown."""

from __future__ import annotations

from pathlib import Path

from terminal import run_in_terminal

from kleene.languages import tomita


def test_default_training_writes_a_model(tmp_path: Path) -> None:
    words, labels = tomita(1).sample(300, lengths=range(9), seed=0)
    rows = [f"{word}\t{int(label)}\n" for word, label in zip(words, labels, strict=True)]
    (tmp_path / "data.tsv").write_text("".join(rows))
    run = run_in_terminal("train", "data.tsv", "--out", "model", cwd=tmp_path)
    assert run.status == 0, run.text
    assert (tmp_path / "model" / "config.json").exists()


def test_demo_proves_its_automaton(tmp_path: Path) -> None:
    run = run_in_terminal("demo", cwd=tmp_path)
    assert run.status == 0, run.text
    assert (tmp_path / "demo" / "certificate.json").exists()
