"""The report: one file, nothing loaded, nothing of the user's run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hard_machine import HardMachine
from pages import HOSTILE, page_model, random_words

from kleene import DFA, Model, SequenceClassifier
from kleene.data.alphabet import Alphabet, from_json_symbol
from kleene.data.batch import make_batch
from kleene.data.fingerprint import fingerprint
from kleene.report.content import content
from kleene.report.html import as_json_block, report_page, write_report
from kleene.report.view import page_table
from kleene.training.history import Epoch, History


class Parts(HTMLParser):
    """The scripts of a page, the names of its elements, and what they refer to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.names: list[str] = []
        self.links: list[str] = []
        self.policy = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names.append(tag)
        self.links += [str(given[name]) for name in ("src", "href") if name in given]
        if tag == "script":
            self.scripts.append((given, ""))
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""

    def handle_endtag(self, tag: str) -> None:
        self.names.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self.names and self.names[-1] == "script" and self.scripts:
            kind, before = self.scripts[-1]
            self.scripts[-1] = (kind, before + data)


def report(model: Model, words: list[Any], labels: list[Any], **options: Any) -> Parts:
    return Parts(report_page(content(model, words, labels, name="a model", **options)))


def values(parts: Parts) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(parts.scripts[0][1])
    return found


@pytest.fixture(scope="module")
def plain() -> Parts:
    model = page_model()
    words = random_words(model, 120)
    return report(model, words, [i % 2 for i in range(len(words))])


def test_a_report_is_one_file_that_loads_nothing(plain: Parts) -> None:
    assert plain.links == []
    assert len(plain.scripts) == 2
    assert "default-src 'none'" in plain.policy


def test_only_the_pages_own_script_may_run(plain: Parts) -> None:
    digest = base64.b64encode(hashlib.sha256(plain.scripts[1][1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in plain.policy
    assert "unsafe" not in plain.policy


def test_what_the_user_brings_stays_data() -> None:
    model = page_model(HOSTILE, classes=("<b>yes</b>", "</script><script>alert(2)</script>"))
    words = random_words(model, 60)
    parts = report(model, words, [model.classes[i % 2] for i in range(60)])
    assert len(parts.scripts) == 2
    assert not {"img", "b"} & set(parts.names)
    found = values(parts)
    assert found["model"]["classes"] == list(model.classes)
    assert set(found["view"]["machine"]["alphabet"]) == set(HOSTILE)


def test_json_inside_a_page_comes_back_as_it_was() -> None:
    value = {"</script>": ["<!--", "&lt;", "\u2028\u2029", '"', "\\", "日本", "👩"]}
    block = as_json_block(value)
    assert not re.search(r"[<>&\u2028\u2029]", block)
    assert json.loads(block) == value


def test_the_table_in_the_page_is_the_networks(plain: Parts) -> None:
    model = page_model()
    machine, table = HardMachine(model), values(plain)["view"]["machine"]
    column = dict(zip(table["alphabet"], table["column"], strict=True))
    for word in random_words(model, 60, seed=5):
        state, theirs = table["start"], machine.start()
        for symbol in word:
            state = table["moves"][state][column[symbol]]
            theirs = machine.step(theirs, symbol)
        assert table["outputs"][state] == str(machine.output(theirs))


def test_symbols_that_act_alike_share_a_column() -> None:
    dfa = DFA(
        alphabet=tuple("abcd"), transitions=np.array([[0, 1, 0, 1], [1, 0, 1, 0]]), outputs=(0, 1)
    )
    table = page_table(dfa)
    assert table["column"] == [0, 1, 0, 1]
    assert [[row[c] for c in table["column"]] for row in table["moves"]] == dfa.rows


def test_accuracy_and_confusion_are_those_of_the_words() -> None:
    model = page_model(classes=("no", "yes", "maybe"))
    words = random_words(model, 90)
    labels = [model.classes[i % 3] for i in range(90)]
    found = values(report(model, words, labels))
    table = np.array(found["confusion"])
    assert table.sum(1).tolist() == [30, 30, 30]
    assert found["accuracy"] == pytest.approx(table.trace() / 90)


def test_words_without_labels_have_no_accuracy() -> None:
    model = page_model()
    found = values(report(model, random_words(model, 40), []))
    assert found["accuracy"] is None
    assert all(example["label"] is None for example in found["examples"])


@pytest.mark.parametrize(
    "settings",
    [
        {"cell": "lstm-p", "similarity": "dot", "temperature": 1.0},
        {"cell": "gru", "num_layers": 2},
        {"cell": "gru", "pooling": "mean"},
        {"cell": "gru", "pooling": "states"},
        {"cell": "gru", "num_states": 0},
    ],
)
def test_every_kind_of_network_has_a_report(settings: dict[str, Any]) -> None:
    model = page_model(**settings)
    words = random_words(model, 60)
    found = values(report(model, words, [i % 2 for i in range(60)]))
    exact = (
        settings["cell"] == "gru" and settings.get("num_states") != 0 and "pooling" not in settings
    )
    assert found["view"]["exact"] is (exact and found["trust"].get("method") == "table")
    if settings.get("num_states") == 0:
        assert "states" in found["meaning"]["missing"]
    for example in found["examples"] if isinstance(found["examples"], list) else []:
        assert len(example["states"]) == len(example["word"]) + 1


def test_states_with_weights_have_the_colour_of_their_class() -> None:
    model = page_model(cell="gru", pooling="states")
    found = values(report(model, random_words(model, 60), []))
    named = [one["label"] for one in found["meaning"]["states"]]
    assert found["view"]["colors"] == [None if n is None else model.classes.index(n) for n in named]
    assert set(found["meaning"]["states"][0]["weights"]) == set(map(str, model.classes))
    opaque = page_model(cell="gru", pooling="max")
    assert values(report(opaque, random_words(opaque, 60), []))["view"]["colors"] is None


def test_a_report_of_a_vocabulary_stays_small(tmp_path: Path) -> None:
    vocabulary = tuple(f"word{i}" for i in range(3000))
    model = page_model(vocabulary, cell="lstm", similarity="dot", temperature=1.0)
    words = random_words(model, 300, longest=80)
    path = write_report(model, words, [i % 2 for i in range(300)], tmp_path / "r.html", name="big")
    assert path.stat().st_size < 3e6


def test_one_word_is_enough() -> None:
    found = values(report(page_model(), ["01"], [1]))
    assert "missing" in found["map"]
    assert found["words"] == 1


# -- figures -------------------------------------------------------------------------------------

STORED = {
    "training_rows": 90,
    "training_accuracy": 0.99,
    "held_out_rows": 10,
    "held_out_accuracy": 0.7,
    "baseline_accuracy": 0.8,
}


def trained(model: Model, words: list[Any]) -> Model:
    """The model as `fit` on some words would leave it."""
    encoded = model.alphabet.encode_many(words)
    return replace(model, settings={"data": {**fingerprint(encoded), **STORED}})


def distinct_words(count: int) -> list[Any]:
    return [format(i, "b") for i in range(1, count + 1)]


def test_rows_that_were_trained_on_are_no_headline() -> None:
    words = distinct_words(100)
    model = trained(page_model(), words)
    found = values(report(model, words, [i % 2 for i in range(100)]))["figures"]
    assert found["headline"]["name"] == "Held-out accuracy"
    assert (found["headline"]["accuracy"], found["headline"]["rows"]) == (0.7, 10)
    assert "were among those given to training" in found["warning"]
    assert (found["baseline"]["accuracy"], found["baseline"]["rows"]) == (0.8, 10)
    assert found["baseline"]["interval"] == pytest.approx((0.490, 0.943), abs=1e-3)


def test_new_rows_are_a_test() -> None:
    words = distinct_words(150)
    model = trained(page_model(), words[:100])
    labels = [i % 2 for i in range(50)]
    found = values(report(model, words[100:], labels))
    headline = found["figures"]["headline"]
    assert (headline["name"], headline["rows"]) == ("Test accuracy", 50)
    assert headline["accuracy"] == found["accuracy"]
    assert found["figures"]["warning"] is None


def test_some_rows_that_were_trained_on_are_said() -> None:
    words = distinct_words(100)
    model = trained(page_model(), words[:50])
    found = values(report(model, words, [i % 2 for i in range(100)]))["figures"]
    assert found["warning"].startswith("50.0 % of the 100 examples")


def test_an_old_model_does_not_know_its_rows() -> None:
    words = distinct_words(40)
    found = values(report(page_model(), words, [1] * 40))["figures"]
    assert (found["headline"]["name"], found["trained_on"]) == ("Accuracy", None)


def test_figures_of_each_class_are_scikit_learns() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    model = page_model(classes=("no", "yes", "maybe"))
    words = random_words(model, 90)
    labels = [model.classes[i * i % 3] for i in range(90)]
    found = values(report(model, words, labels))["figures"]
    predicted = SequenceClassifier.from_model(model).predict(words)
    wanted = metrics.precision_recall_fscore_support(
        labels, predicted, labels=list(model.classes), zero_division=0
    )
    rows = [[one[k] for one in found["per_class"]] for k in ("precision", "recall", "f1", "rows")]
    assert np.allclose(rows, wanted)
    assert found["majority"] == max(map(labels.count, model.classes)) / 90


@pytest.mark.parametrize("held_out", [True, False])
def test_nothing_learned_is_said(held_out: bool) -> None:
    dice, words = np.random.default_rng(0), distinct_words(100)
    labels = dice.integers(0, 2, 100).tolist()  # a coin: no model can know them
    model = page_model()
    if held_out:  # then training says it, by its own rows
        model = trained(model, words)
        rows = [{"rows": 40}, {"rows": 60}]
        model.settings["data"] |= {"held_out_interval": (0.4, 0.6), "per_class": rows}
    parts = report(model, words, labels)
    told = values(parts)["figures"]["worth"]
    answer = 1 if held_out else max((0, 1), key=labels.count)
    assert told == f"no better than always answering {answer}"
    correct = SequenceClassifier.from_model(page_model()).predict(words).tolist()
    assert values(report(page_model(), words, correct))["figures"]["worth"] is None


def test_few_training_rows_are_worth_nobody_knows_what() -> None:
    words = distinct_words(3)
    model = trained(page_model(), words)
    model.settings["data"] |= {"rows": 3, "held_out_rows": 0, "held_out_accuracy": None}
    told = "unknown, as 3 rows are too few to say; give 50 or more"
    for labels in ([0, 1, 1], []):
        assert values(report(model, words, labels))["figures"]["worth"] == told
    fresh = distinct_words(40)[10:]
    correct = SequenceClassifier.from_model(model).predict(fresh).tolist()
    assert values(report(model, fresh, correct))["figures"]["worth"] is None  # a test of its own


def test_symbols_of_any_kind_have_a_report() -> None:
    symbols = ((0, "x"), (1, ("y", 2)), 3.5)
    plain = page_model(("0", "1", "2"), cell="gru")
    model = replace(plain, alphabet=Alphabet(symbols), tokens="symbols")
    dice = np.random.default_rng(0)
    words = [tuple(symbols[i] for i in dice.integers(0, 3, 3 + n % 5)) for n in range(40)]
    found = values(report(model, words, [i % 2 for i in range(40)]))
    assert found["view"]["machine"]["alphabet"][:2] == [[0, "x"], [1, ["y", 2]]]
    shown = found["examples"][0]
    word = tuple(from_json_symbol(symbol) for symbol in shown["word"])
    with torch.inference_mode():
        trace = model.network.trace(make_batch(model.alphabet.encode_many([word])))
    assert shown["states"] == trace.states[0].tolist()
    assert json.loads(found["samples"][0])


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), "much", None])
def test_a_loss_that_cannot_be_drawn_is_left_out(loss: Any) -> None:
    epoch = Epoch(stage="s", epoch=1, loss=loss, accuracy=0.5, words=1, rate=0.1, seconds=1.0)
    model = replace(page_model(), history=History([epoch]))
    found = values(report(model, distinct_words(20), [1] * 20))
    assert found["history"][0]["loss"] is None
    assert found["history"][0]["accuracy"] == 0.5
