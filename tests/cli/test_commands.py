"""Each command on a small model, checked against the library or the truth."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from counting_network import counting_model
from paper.counter_reading import balanced
from shell import Kleene, assert_one_clear_line

import kleene as kl
from kleene.cli.automaton_files import write_machine
from kleene.data.alphabet import Alphabet
from kleene.evaluation.metrics import reliability
from kleene.languages import by_name
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig


@pytest.fixture
def model(folder: Path) -> Path:
    return folder / "model"


@pytest.fixture
def data(folder: Path) -> Path:
    return folder / "data.tsv"


@pytest.fixture
def truth(folder: Path) -> Path:
    return folder / "truth.json"


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_sampled_words_are_labelled_by_the_language(kleene: Kleene) -> None:
    asked = ("sample", "tomita3", "-n", 200, "--lengths", "2:6", "--seed", 3)
    outcome = kleene(*asked)
    lines = [line.split("\t") for line in outcome.out.splitlines()]
    language = by_name("tomita3")
    assert len(lines) == 200
    assert {len(word) for word, _ in lines} <= {2, 3, 4, 5}
    assert all(language.contains(word) == (label == "1") for word, label in lines)
    assert kleene(*asked).out == outcome.out


def test_listed_languages_can_be_sampled(kleene: Kleene) -> None:
    names = [line.split()[0] for line in kleene("sample", "--list").out.splitlines()[1:]]
    assert names == [*kl.languages.names(), "reviews", "orders"]
    assert kleene("sample", kl.languages.names()[-1], "-n", 4).out.count("\n") == 4


def test_predict_gives_the_labels_of_the_library(kleene: Kleene, model: Path, data: Path) -> None:
    words = [word for word, _ in rows(data)]
    expected = kl.SequenceClassifier.load(model).predict(words).tolist()
    assert kleene("predict", model, data).out.split() == [str(label) for label in expected]


def test_predict_reads_bare_words_from_standard_input(kleene: Kleene, model: Path) -> None:
    outcome = kleene("predict", model, "-", "--json", stdin="111\n\n101\n")
    lines = [json.loads(line) for line in outcome.out.splitlines()]
    assert [line["prediction"] for line in lines] == [1, 1, 0]
    assert all(sum(line["probabilities"].values()) == pytest.approx(1) for line in lines)


def test_predict_takes_words_on_the_command_line(kleene: Kleene, model: Path, data: Path) -> None:
    assert (
        kleene("predict", model, "--word", "111", "--word", "", "--word", "10").out == "1\n1\n0\n"
    )
    assert_one_clear_line(kleene("predict", model))
    assert_one_clear_line(kleene("predict", model, data, "--word", "1"))


def test_predict_writes_predictions_beside_the_columns(
    kleene: Kleene, model: Path, data: Path, tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    table.write_text('id,text,note\n7,111,"a, b"\n8,10,"two\nlines"\n')
    outcome = kleene("predict", model, table, "--columns")
    found = list(csv.DictReader(io.StringIO(outcome.out)))
    assert [row["prediction"] for row in found] == ["1", "0"]
    assert [row["note"] for row in found] == ["a, b", "two\nlines"]
    assert list(found[0]) == ["id", "text", "note", "prediction", "probability"]
    lines = kleene("predict", model, table, "--columns", "--json").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["7", "8"]
    plain = list(csv.DictReader(io.StringIO(kleene("predict", model, data, "--columns").out)))
    assert [[row["sequence"], row["label"]] for row in plain] == rows(data)
    assert_one_clear_line(kleene("predict", model, "--word", "1", "--columns"))


def test_predict_counts_unknown_symbols_once(kleene: Kleene, model: Path) -> None:
    outcome = kleene("predict", model, "-", stdin="1x1\n1yz\n11\n")
    assert len(outcome.out.splitlines()) == 3
    assert outcome.err.count("\n") == 1
    assert "3 symbols in 2 examples" in outcome.err


def test_evaluate_agrees_with_predict(
    kleene: Kleene, model: Path, data: Path, tmp_path: Path
) -> None:
    lines = rows(data)
    for line in lines[:7]:  # wrong labels, so that something is off the diagonal
        line[1] = "1" if line[1] == "0" else "0"
    path = tmp_path / "test.tsv.gz"
    path.write_bytes(gzip.compress("".join(f"{w}\t{y}\n" for w, y in lines).encode()))
    predicted = kleene("predict", model, path).out.split()
    right = sum(y == p for (_, y), p in zip(lines, predicted, strict=True))
    found = json.loads(kleene("evaluate", model, path, "--json").out)
    assert found["accuracy"] == pytest.approx(right / len(lines))
    for i, label in enumerate(found["classes"]):
        for j, other in enumerate(found["classes"]):
            pairs = zip(lines, predicted, strict=True)
            count = sum(y == str(label) and p == str(other) for (_, y), p in pairs)
            assert found["confusion"][i][j] == count
    assert f"{right} of {len(lines)}" in kleene("evaluate", model, path).out


def test_evaluate_needs_labels_that_the_model_knows(kleene: Kleene, model: Path) -> None:
    outcome = kleene("evaluate", model, "-", stdin="11\t1\n10\tmaybe\n")
    assert_one_clear_line(outcome)
    assert "line 2" in outcome.err
    assert_one_clear_line(kleene("evaluate", model, "-", stdin="11\n10\n"))


def test_extract_writes_every_format(
    kleene: Kleene, model: Path, truth: Path, tmp_path: Path
) -> None:
    endings = ("json", "dot", "svg", "png", "pdf", "mmd", "regex")
    outs = [part for end in endings for part in ("--out", tmp_path / f"dfa.{end}")]
    found = json.loads(kleene("extract", model, "--json", *outs).out)
    assert found["faithful"]
    written = {end: (tmp_path / f"dfa.{end}").read_bytes() for end in endings}
    dfa = kl.DFA.load(tmp_path / "dfa.json")
    assert dfa == kl.DFA.load(truth)
    assert written["png"].startswith(b"\x89PNG")
    assert written["pdf"].startswith(b"%PDF")
    assert b"<svg" in written["svg"]
    assert written["regex"].decode().strip() == dfa.to_regex()
    assert written["mmd"].decode().strip() == dfa.to_mermaid().strip()


def test_extract_along_given_words(kleene: Kleene, model: Path, data: Path) -> None:
    outcome = kleene("extract", model, "--method", "counts", "--data", data, "--json")
    assert json.loads(outcome.out)["method"] == "counts"
    assert_one_clear_line(kleene("extract", model, "--method", "magic"))


def test_compare_gives_a_shortest_word_and_status_1(
    kleene: Kleene, truth: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.json"
    assert kleene("sample", "tomita4", "--dfa", "--out", other).status == 0
    same, differ = kleene("compare", truth, truth), kleene("compare", truth, other)
    assert (same.status, same.out) == (0, "equal\n")
    assert (differ.status, differ.err) == (1, "")
    found = json.loads(kleene("compare", truth, other, "--json").out)
    assert not found["equal"]
    assert len(found["word"]) == 1  # tomita1 is 1*, tomita4 has 0 too
    assert by_name("tomita1").contains(found["word"]) is found["labels"][0]


def test_a_broken_automaton_is_named(kleene: Kleene, truth: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    for content in (
        "{",
        "[]",
        '{"format": "kleene.dfa/9"}',
        truth.read_text().replace("[[", "[[9"),
    ):
        broken.write_text(content)
        outcome = kleene("compare", truth, broken)
        assert_one_clear_line(outcome)
        assert str(broken) in outcome.err


def test_a_regular_expression_for_each_label(kleene: Kleene, tmp_path: Path) -> None:
    table = {0: {"a": 1, "b": 0}, 1: {"a": 1, "b": 1}}
    dfa = kl.DFA.from_table(table, start=0, outputs={0: "none", 1: "some"})
    write_machine(dfa, [tmp_path / "dfa.regex"])
    found = dict(line.split("\t") for line in (tmp_path / "dfa.regex").read_text().splitlines())
    for word in ("", "b", "ab", "bba", "bbb"):
        label = dfa.run(word)
        assert [y for y, pattern in found.items() if re.fullmatch(pattern, word)] == [label]


def test_match_labels_words_like_the_language(kleene: Kleene, truth: Path, data: Path) -> None:
    language = by_name("tomita1")
    expected = [str(language.contains(word)) for word, _ in rows(data)]
    assert kleene("match", truth, data).out.split() == expected
    counts = json.loads(kleene("match", truth, data, "--count", "--json").out)
    assert counts == {"true": expected.count("True"), "false": expected.count("False")}


def test_match_names_the_line_of_an_unknown_symbol(kleene: Kleene, truth: Path) -> None:
    outcome = kleene("match", truth, "-", stdin="11\n1?1\n")
    assert_one_clear_line(outcome)
    assert "line 2" in outcome.err
    assert "'?'" in outcome.err


def test_certify_then_verify(kleene: Kleene, model: Path, truth: Path, tmp_path: Path) -> None:
    proof = tmp_path / "certificate.json"
    assert kleene("certify", model, truth, "--out", proof).status == 0
    assert kleene("verify", model, truth, proof).status == 0
    changed = json.loads(truth.read_text())
    changed["outputs"] = [not label for label in changed["outputs"]]
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(changed))
    refused = kleene("certify", model, wrong, "--json")
    assert refused.status == 1
    assert json.loads(refused.out)["holds"] is False
    assert kleene("verify", model, wrong, proof).status == 1


def test_certify_against_a_counter_machine(kleene: Kleene, truth: Path, tmp_path: Path) -> None:
    model, machine = tmp_path / "model", tmp_path / "machine.json"
    counting_model("a").save(model)
    nested = balanced(True, letters="a")
    nested.save(machine)
    bounds = ("--depth", 3, "--length", 20)
    proved = kleene("certify", model, machine, *bounds, "--json")
    assert proved.status == 0
    found = json.loads(proved.out)
    assert found["holds"]
    assert (found["depth"], found["length"], found["asked"]) == (3, 20, 20)
    assert "depth up to 3 and length up to 20" in kleene("certify", model, machine, *bounds).out
    other = tuple(tuple(not label for label in row) for row in nested.outputs)
    replace(nested, outputs=other).save(machine)
    refused = kleene("certify", model, machine, *bounds)
    assert refused.status == 1
    assert "not certain" in refused.out
    nested.save(machine)
    proof = tmp_path / "proof.json"
    assert kleene("certify", model, machine, *bounds, "--out", proof).status == 0
    for options in ((), ("--exact",)):
        verified = kleene("verify", model, machine, proof, *options)
        assert verified.status == 0
        assert "of depth up to 3 and length up to 20" in verified.out
    assert_one_clear_line(kleene("certify", model, truth, "--teach", tmp_path / "taught"))


@pytest.mark.slow
def test_certify_teaches_a_copy_to_count(kleene: Kleene, tmp_path: Path) -> None:
    model, machine, taught = tmp_path / "model", tmp_path / "machine.json", tmp_path / "taught"
    torch.manual_seed(0)
    alphabet = Alphabet("a()")
    config = NetworkConfig(
        num_symbols=len(alphabet),
        num_classes=2,
        cell="lstm-p",
        input_size=8,
        hidden_size=8,
        num_states=2,
    )
    Model(network=Classifier(config), alphabet=alphabet, classes=(False, True), longest=9).save(
        model
    )
    balanced(True, letters="a").minimize().save(machine)
    bounds = ("--depth", 2, "--length", 30)
    assert kleene("certify", model, machine, *bounds).status == 1
    assert kleene("certify", model, machine, *bounds, "--teach", taught).status == 0
    assert kleene("certify", taught, machine, *bounds).status == 0
    assert kleene("predict", taught, "-", stdin="(a)\n(\n").out.split() == ["True", "False"]


def test_explain_prototypes_and_phrases(
    kleene: Kleene, model: Path, data: Path, tmp_path: Path
) -> None:
    why = json.loads(kleene("explain", model, "1101", "--json").out)
    assert why["prediction"] == 0
    assert len(why["weights"]) == 4
    every = kleene("explain", model, "--file", data, "--json").out.splitlines()
    assert [json.loads(line)["word"] for line in every] == [[*word] for word, _ in rows(data)]
    assert_one_clear_line(kleene("explain", model))
    assert_one_clear_line(kleene("explain", model, "1", "--file", data))
    found = json.loads(kleene("explain", model, "--prototypes", data, "--json").out)
    assert {one["symbol"] for one in found["classes"]["1"]} == {"1"}  # tomita1 is 1*
    pairs = json.loads(kleene("explain", model, "--phrases", data, "-n", 2, "--json").out)
    assert [one["symbols"] for one in pairs["classes"]["1"]] == [["1", "1"]]


def test_explain_shows_the_path_and_the_step_that_decided(kleene: Kleene, model: Path) -> None:
    lines = kleene("explain", model, "1101").out.splitlines()
    assert lines[1].split() == ["sequence", *"1101"]
    assert any(line.startswith("decided by symbol 3, '0'") for line in lines)
    assert "every state on the way" in kleene("explain", model, "111").out


def test_explain_names_unknown_symbols(kleene: Kleene, model: Path) -> None:
    outcome = kleene("explain", model, "1x")
    assert outcome.status == 0
    assert "1 symbol in 1 example not in the alphabet of the model, such as 'x'" in outcome.err


def test_extract_counts_the_words_of_the_file_and_says_where_others_are_from(
    kleene: Kleene, model: Path, tmp_path: Path
) -> None:
    data = tmp_path / "some.tsv"
    data.write_text("1\t1\n\t1\n10\t0\n\t1\n111\t1\n")
    assert "of 5 given words" in kleene("extract", model, "--data", data).out
    drawn = kleene("extract", model).out
    assert "random words" in drawn
    assert "given" not in drawn
    assert "no ambiguous transitions" in drawn


def test_demo_tells_the_whole_story(
    kleene: Kleene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = kleene("demo")
    assert outcome.status == 0
    assert "the same language as the truth" in outcome.out
    assert "verified from the files alone: proved" in outcome.out
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        *("tomita4.tsv", "model", "dfa.json", "certificate.json", "dfa.svg", "dfa.png")
    }
    assert kleene("evaluate", "demo/model", "demo/tomita4.tsv").status == 0


def test_evaluate_tells_the_calibration(kleene: Kleene, model: Path, data: Path) -> None:
    told = json.loads(kleene("evaluate", model, data, "--json").out)
    trained = kl.SequenceClassifier.load(model)
    words, labels = zip(*rows(data), strict=True)
    numbers = [[str(label) for label in trained.classes_].index(label) for label in labels]
    wanted = reliability(trained.predict_proba(list(words)), numbers)
    assert told["calibration"]["error"] == pytest.approx(wanted.error)
    assert sum(told["calibration"]["counts"]) == len(words)
    assert f"calibration error  {wanted.error:.4f}" in kleene("evaluate", model, data).out


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_report_draws_pictures(kleene: Kleene, data: Path, tmp_path: Path, ending: str) -> None:
    model, out = counting_model("a").save(tmp_path / "model"), tmp_path / f"x.{ending}"
    (tmp_path / "words.txt").write_text("(a)\n()\na\n((\n")
    along = ("--plot", "trajectories", "--sequence", "(a)")
    for asked in (along, (tmp_path / "words.txt", "--plot", "tsne")):
        outcome = kleene("report", model, *asked, "--out", out)
        assert (outcome.status, outcome.out) == (0, f"{out}\n")
        assert out.read_bytes().startswith({"png": b"\x89PNG", "svg": b"<?xml"}[ending])
        out.unlink()
    for mistake in (
        (*along, "--out", tmp_path / "x.bmp"),
        ("--plot", "trajectories", "--sequence", ""),
        ("--plot", "trajectories"),
        (data, "--sequence", "ab"),
    ):
        assert_one_clear_line(kleene("report", model, *mistake))
