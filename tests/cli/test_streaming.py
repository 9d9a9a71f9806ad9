"""`--stream`: the words stay on disk, and nothing else changes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from shell import SMALL, Kleene, assert_one_clear_line

import kleene as kl
from kleene.data.files import read_data
from kleene.errors import DataWarning

QUICK = (*SMALL, "--epochs", "2", "--learn", "network", "--batch-size", "8")
WEIGHTS = "model.safetensors"


def sample(path: Path, n: int = 120, seed: int = 0) -> Path:
    random = np.random.default_rng(seed)
    words = [" ".join(random.choice(["ab", "b", "ü"], k)) for k in random.integers(0, 9, n)]
    path.write_text("".join(f"{word}\t{'yes' if 'b' in word else 'no'}\n" for word in words))
    return path


@pytest.mark.parametrize("recipe", ["direct", "warm"])
def test_the_same_bits_as_in_memory(kleene: Kleene, tmp_path: Path, recipe: str) -> None:
    data = sample(tmp_path / "d.tsv")
    options = (*QUICK, "--recipe", recipe, "--balanced")
    for way in ("--stream", "--no-stream"):
        outcome = kleene("train", data, "--out", tmp_path / way, *options, way, "--json")
        assert outcome.status == 0, outcome.err
        assert "a guess" in outcome.err
    one, two = (tmp_path / way for way in ("--stream", "--no-stream"))
    assert (one / WEIGHTS).read_bytes() == (two / WEIGHTS).read_bytes()
    assert json.loads(outcome.out)["training_accuracy"] == kl.SequenceClassifier.load(one).score(
        *map(list, zip(*(line.split("\t") for line in data.read_text().splitlines()), strict=True))
    )
    assert {path.name for path in one.iterdir()} == {path.name for path in two.iterdir()}


def test_validation_consolidation_and_nothing_left_to_do(kleene: Kleene, tmp_path: Path) -> None:
    data = tmp_path / "d.tsv"
    assert kleene("sample", "tomita1", "-n", 300, "--out", data).status == 0
    train = ("train", data, "--out", tmp_path / "m", *SMALL, "--stream", "--json")
    outcome = kleene(*train)
    assert outcome.status == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["held_out_accuracy"] == 1
    assert told["origin"] == "induced"
    again = kleene(*train, "--resume")
    assert "nothing to do" in again.err
    assert json.loads(again.out)["held_out_accuracy"] == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.tsv", "ab\t1\nba\t0\naa\t0\n"),
        ("d.tsv", "a b\tTrue\nb\tFalse\n"),
        ("d.csv", "text,label\nthe end,bad\nend,good\n"),
        ("d.jsonl", '{"sequence": [1, [2]], "label": 0}\n{"sequence": [], "label": 1}\n'),
        ("d.jsonl", '{"sequence": "é b", "label": "x"}\n{"sequence": "", "label": 2}\n'),
    ],
)
def test_alphabet_classes_and_words_as_in_memory(
    kleene: Kleene, tmp_path: Path, name: str, content: str
) -> None:
    data = tmp_path / f"{name}.gz"
    data.write_bytes(gzip.compress(content.encode()))
    for way in ("--stream", "--no-stream"):
        outcome = kleene("train", data, "--out", tmp_path / way, *QUICK, way)
        assert outcome.status == 0, outcome.err
    one, two = (kl.Model.load(tmp_path / way) for way in ("--stream", "--no-stream"))
    assert one.alphabet == two.alphabet
    assert one.classes == two.classes
    assert (one.tokens, one.longest) == (two.tokens, two.longest)
    assert (tmp_path / "--stream" / WEIGHTS).read_bytes() == (
        tmp_path / "--no-stream" / WEIGHTS
    ).read_bytes()


def test_standard_input_cannot_be_read_twice(kleene: Kleene, tmp_path: Path) -> None:
    outcome = kleene("train", "-", "--out", tmp_path / "m", "--stream", stdin="a\t1\nb\t0\n")
    assert_one_clear_line(outcome)
    assert "standard input" in outcome.err


def test_large_files_are_streamed_of_themselves(kleene: Kleene, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("kleene.cli.data.LARGE", 100)
    outcome = kleene("train", sample(tmp_path / "d.tsv"), "--out", tmp_path / "m", *QUICK)
    assert outcome.status == 0
    assert "words.arrow" in outcome.err
    assert not (tmp_path / "m" / "words.arrow").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.tsv", "ab\t1\nba\t0\naa\t0\n"),
        ("d.tsv", "a b\tTrue\nb\tFalse\n"),
        ("d.csv", "text,label\nThe end.,bad\nAn end!,good\n"),
        ("d.jsonl", '{"sequence": [1, [2]], "label": 0}\n{"sequence": [], "label": 1}\n'),
    ],
)
def test_python_and_the_command_line_train_the_same_weights(
    kleene: Kleene, tmp_path: Path, name: str, content: str
) -> None:
    data = tmp_path / name
    data.write_text(content)
    outcome = kleene("train", data, "--out", tmp_path / "cli", *QUICK, "--seed", 3)
    assert outcome.status == 0, outcome.err
    found = read_data(data)
    training = {"epochs": 2, "batch_size": 8}
    given = {"hidden_size": 16, "network": {"input_size": 8}, "training": training}
    estimator = kl.SequenceClassifier(**given, learn="network", random_state=3)
    estimator.fit(found.words, found.labels).save(tmp_path / "python")
    one, two = (kl.Model.load(tmp_path / way) for way in ("cli", "python"))
    assert (one.tokens, one.classes, one.alphabet) == (two.tokens, two.classes, two.alphabet)
    assert [type(label) for label in one.classes] == [type(label) for label in two.classes]
    assert (tmp_path / "cli" / WEIGHTS).read_bytes() == (tmp_path / "python" / WEIGHTS).read_bytes()


@pytest.mark.parametrize("label", ["NaN", "null", "None"])
def test_labels_that_say_missing_are_warned_of(kleene: Kleene, tmp_path: Path, label: str) -> None:
    data = tmp_path / "d.tsv"
    data.write_text(f"ab\tx\nba\t{label}\naa\tx\n")
    for way in ("--stream", "--no-stream"):
        outcome = kleene("train", data, "--out", tmp_path / way, *QUICK, way)
        assert outcome.status == 0, outcome.err
        assert f"the label {label!r} is taken as a class" in outcome.err
    found = read_data(data)
    with pytest.warns(DataWarning, match=f"the label {label!r}"):
        kl.SequenceClassifier(training={"epochs": 1}).prepare(found.words, found.labels)
