"""`kleene train`: good data in every format, and every kind of bad input."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from shell import SMALL, Kleene, assert_one_clear_line

import kleene as kl
from kleene.evaluation.percent import percent
from kleene.model import Model

QUICK = (*SMALL, "--epochs", "1", "--learn", "network")
KEYS = {
    *("training_accuracy", "validation_accuracy", "held_out_accuracy", "held_out_interval"),
    *("baseline_accuracy", "origin", "states", "seconds"),
}
WORDS = "".join(f"{'ab' * (i % 5)}{'a' * (i % 3)}\t{i % 2}\n" for i in range(40))


@pytest.mark.parametrize(
    ("name", "content", "tokens", "classes"),
    [
        ("d.tsv", "ab\t1\nba\t0\n", "chars", (0, 1)),
        ("d.tsv", "a b\tTrue\nb\tFalse\n", "words", (False, True)),
        ("d.csv", "text,label\nthe end,bad\nend,good\n", "words", ("bad", "good")),
        (
            "d.jsonl",
            '{"sequence": [1, 2], "label": 0}\n{"sequence": [], "label": 1}\n',
            "symbols",
            (0, 1),
        ),
    ],
)
def test_formats_tokens_and_labels(
    kleene: Kleene,
    tmp_path: Path,
    name: str,
    content: str,
    tokens: str,
    classes: tuple[object, ...],
) -> None:
    data, out = tmp_path / name, tmp_path / "model"
    data.write_text(content)
    outcome = kleene("train", data, "--out", out, *QUICK, "--json")
    assert outcome.status == 0
    assert ("a guess" in outcome.err) == (tokens != "symbols")
    assert json.loads(outcome.out).keys() == KEYS
    model = kl.Model.load(out)
    assert model.tokens == tokens
    assert model.classes == classes
    assert all(type(one) is type(two) for one, two in zip(model.classes, classes, strict=True))


@pytest.mark.parametrize(
    ("cell", "command"), [("gru", "kleene extract"), ("lstm", "kleene report")]
)
def test_what_comes_next_is_what_the_network_is_good_for(
    kleene: Kleene, tmp_path: Path, cell: str, command: str
) -> None:
    data = tmp_path / "d.tsv"
    data.write_text(WORDS)
    outcome = kleene("train", data, "--out", tmp_path / "m", *QUICK, "--cell", cell)
    assert outcome.status == 0
    assert command in outcome.err.splitlines()[-1]


def test_given_tokens_are_not_a_guess(kleene: Kleene, tmp_path: Path) -> None:
    outcome = kleene(
        "train", "-", "--out", tmp_path / "m", *QUICK, "--tokens", "words", stdin=WORDS
    )
    assert outcome.status == 0
    assert "guess" not in outcome.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"ab\t1\nba\t1\n", "one class"),
        (b"\x7fELF\x00\x01\x02\xff" * 100, "line 1"),
        (b"\xff\xfe\x00a", "line 1"),
        (b"a" * 10_000_000, "line 1"),
        (b"ab\t0\n" + b"a" * 10_000_000 + b"\t1\n", "example 2"),
        (b"ab\t1\nba\t0\tmore\n", "line 2"),
        (b"ab\t1\nba\n", "line 2"),
        (b"ab\t1\nba\t\n", "line 2"),
    ],
    ids=["empty", "one class", "binary", "utf-16", "long line", "long word", "mixed columns",
         "label column missing", "label missing"],
)  # fmt: skip
def test_bad_data(kleene: Kleene, tmp_path: Path, content: bytes, said: str) -> None:
    data, out = tmp_path / "data.tsv", tmp_path / "model"
    data.write_bytes(content)
    for way in ("--no-stream", "--stream"):
        outcome = kleene("train", data, "--out", out, way)
        assert_one_clear_line(outcome)
        assert (said if way == "--no-stream" else said.replace("example", "line")) in outcome.err
        assert len(outcome.err) < 600
        assert not out.exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--cell", "quantum"),
        ("--states", "-1"),
        ("--temperature", "0"),
        ("--recipe", "cake"),
        ("--optimizer", "luck"),
        ("--tokens", "atoms"),
        ("--dropout", "1"),
        ("--device", "cuda:99"),
        ("--validation", "1"),
        ("--learning-rate", "-1"),
        ("--batch-size", "0"),
        ("--epochs", "0"),
        ("--resume", "--overwrite"),
    ],
    ids=" ".join,
)
def test_bad_settings(kleene: Kleene, tmp_path: Path, options: tuple[str, ...]) -> None:
    outcome = kleene("train", "-", "--out", tmp_path / "model", *options, stdin=WORDS)
    assert_one_clear_line(outcome)
    assert "internal error" not in outcome.err
    assert not (tmp_path / "model").exists()


def test_a_folder_that_cannot_be_made(kleene: Kleene, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for out in (tmp_path / "file", tmp_path / "file" / "model", Path("/proc/model")):
        assert_one_clear_line(kleene("train", "-", "--out", out, *QUICK, stdin=WORDS))
    assert (tmp_path / "file").read_text() == "in the way"


@contextmanager
def little_room(size: int) -> Iterator[None]:
    """No file can grow beyond this size, as on a disk that is almost full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_nothing_half_written(kleene: Kleene, tmp_path: Path) -> None:
    model, other = tmp_path / "model", tmp_path / "other"
    assert kleene("train", "-", "--out", model, *QUICK, stdin=WORDS).status == 0
    before = kl.Model.load(model).to_files()
    with little_room(3_000):  # enough for the settings and for messages, not for the weights
        for out in (model, other):
            outcome = kleene("train", "-", "--out", out, *QUICK, "--overwrite", stdin=WORDS)
            assert_one_clear_line(outcome)
            assert "cannot write" in outcome.err
    assert kl.Model.load(model).to_files() == before
    assert not list(tmp_path.rglob("*.tmp"))
    assert not other.exists()


def test_two_processes_do_not_train_into_one_folder(kleene: Kleene, tmp_path: Path) -> None:
    out = tmp_path / "model"
    out.mkdir()
    with FileLock(out / ".lock"):
        outcome = kleene("train", "-", "--out", out, *QUICK, stdin=WORDS)
    assert_one_clear_line(outcome)
    assert "another process" in outcome.err
    assert kleene("train", "-", "--out", out, *QUICK, stdin=WORDS).status == 0


def test_texts_are_tokenized_alike_when_trained_and_when_used(
    kleene: Kleene, tmp_path: Path
) -> None:
    data, model = tmp_path / "data.tsv", tmp_path / "model"
    rows = ["A great film!\tgood", "Awful, awful...\tbad", "GREAT<br />fun\tgood", "so AWFUL\tbad"]
    data.write_text("".join(f"{row}\n" for row in rows * 10))
    how = ("--tokens", "text", "--cell", "lstm", "--states", "3", "--epochs", "3")
    assert kleene("train", data, "--out", model, *how, *SMALL).status == 0
    assert "great" in Model.load(model).alphabet.symbols
    assert "br" not in Model.load(model).alphabet.symbols
    asked = [
        kleene("predict", model, "-", "--json", stdin=f"{t}\n")
        for t in ("Great film", "great FILM")
    ]
    assert asked[0].out.replace("Great film", "") == asked[1].out.replace("great FILM", "")
    explained = kleene("explain", model, "GREAT, not awful!", "--json")
    assert json.loads(explained.out)["word"] == ["great", ",", "not", "awful", "!"]


def test_every_accuracy_has_its_name_and_its_rows(kleene: Kleene, tmp_path: Path) -> None:
    data, out = tmp_path / "d.tsv", tmp_path / "m"
    assert kleene("sample", "tomita1", "-n", 200, "--out", data).status == 0
    found = json.loads(kleene("train", data, "--out", out, *QUICK, "--json").out)
    assert found.keys() == KEYS
    kept = Model.load(out).settings["data"]
    assert (kept["training_rows"], kept["validation_rows"]) == (180, 20)
    assert (kept["held_out_rows"], kept["held_out_folds"]) == (200, 5)  # cross-validation
    for name in ("training_accuracy", "held_out_accuracy", "baseline_accuracy"):
        assert 0 <= found[name] == kept[name] <= 1
    text = kleene("train", data, "--out", tmp_path / "n", *QUICK, "--no-baseline").out
    assert f"validation  {percent(found['validation_accuracy'])} of 20 rows, which choices" in text
    assert f"training    {percent(found['training_accuracy'])} of 180 rows" in text


def test_ngrams_that_win_are_named(kleene: Kleene, tmp_path: Path) -> None:
    data = tmp_path / "d.tsv"
    rows = (f"{'xy'[i % 2]}{'z' * (i % 7)}\t{i % 2}\n" for i in range(200))
    data.write_text("".join(rows))
    options = (*QUICK, "--learning-rate", "1e-9")
    outcome = kleene("train", data, "--out", tmp_path / "m", *options)
    assert "n-grams 100 %" in outcome.out
    assert "n-grams with logistic regression are better on the held-out rows" in outcome.err


def test_a_trained_model_is_replaced_only_when_asked(kleene: Kleene, tmp_path: Path) -> None:
    train = ("train", "-", "--out", tmp_path / "m", *QUICK)
    assert kleene(*train, stdin=WORDS).status == 0
    before = (tmp_path / "m" / "model.safetensors").read_bytes()
    refused = kleene(*train, "--seed", 3, stdin=WORDS)
    assert refused.status == 2
    assert "holds a trained model; add --overwrite to replace it" in refused.err
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == before
    assert kleene(*train, "--seed", 3, "--overwrite", stdin=WORDS).status == 0
    assert (tmp_path / "m" / "model.safetensors").read_bytes() != before


def test_three_rows_are_worth_nobody_knows_what(kleene: Kleene, tmp_path: Path) -> None:
    outcome = kleene("train", "-", "--out", tmp_path / "m", *QUICK, stdin="ab\t1\nba\t0\naa\t0\n")
    assert outcome.out.splitlines()[0] == (
        "result      unknown, as 3 rows are too few to say; give 50 or more"
    )
