"""The report: one file, nothing loaded, nothing of the user's run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import HOSTILE, random_model, random_words

from kleene import DFA, Model
from kleene.extraction.table import HardMachine
from kleene.report.content import content
from kleene.report.html import as_json_block, report_page, write_report
from kleene.report.view import page_table


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
    model = random_model()
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
    model = random_model(
        HOSTILE, classes=("<b>yes</b>", "</script><script>alert(2)</script>"), tokens="words"
    )
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
    model = random_model()
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
    model = random_model(classes=("no", "yes", "maybe"))
    words = random_words(model, 90)
    labels = [model.classes[i % 3] for i in range(90)]
    found = values(report(model, words, labels))
    table = np.array(found["confusion"])
    assert table.sum(1).tolist() == [30, 30, 30]
    assert found["accuracy"] == pytest.approx(table.trace() / 90)


def test_words_without_labels_have_no_accuracy() -> None:
    model = random_model()
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
    model = random_model(**settings)
    words = random_words(model, 60)
    found = values(report(model, words, [i % 2 for i in range(60)]))
    exact = (
        settings["cell"] == "gru" and settings.get("num_states") != 0 and "pooling" not in settings
    )
    assert found["view"]["exact"] is (exact and found["trust"]["method"] == "table")
    if settings.get("num_states") == 0:
        assert "states" in found["meaning"]["missing"]
    for example in found["examples"] if isinstance(found["examples"], list) else []:
        assert len(example["states"]) == len(example["word"]) + 1


def test_states_with_weights_have_the_colour_of_their_class() -> None:
    model = random_model(cell="gru", pooling="states")
    found = values(report(model, random_words(model, 60), []))
    named = [one["label"] for one in found["meaning"]["states"]]
    assert found["view"]["colors"] == [None if n is None else model.classes.index(n) for n in named]
    assert set(found["meaning"]["states"][0]["weights"]) == set(map(str, model.classes))
    opaque = random_model(cell="gru", pooling="max")
    assert values(report(opaque, random_words(opaque, 60), []))["view"]["colors"] is None


def test_a_report_of_a_vocabulary_stays_small(tmp_path: Path) -> None:
    vocabulary = tuple(f"word{i}" for i in range(3000))
    model = random_model(vocabulary, tokens="words", cell="lstm", similarity="dot", temperature=1.0)
    words = random_words(model, 300, longest=80)
    path = write_report(model, words, [i % 2 for i in range(300)], tmp_path / "r.html", name="big")
    assert path.stat().st_size < 3e6


def test_one_word_is_enough() -> None:
    found = values(report(random_model(), ["01"], [1]))
    assert "missing" in found["map"]
    assert found["words"] == 1
