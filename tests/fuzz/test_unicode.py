"""Strange but real text, all the way: data, train, predict, extract, JSON and HTML."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kleene import DFA, SequenceClassifier
from kleene.cli import main
from kleene.data.files import read_data

SYMBOLS = (
    "e\u0301",  # combining mark
    "\u05e9\u05dc\u05d5\u05dd",  # right to left
    "\u202eoverride\u202c",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # one family of three people and two joiners
    "\ufeffmark",
    "\u2028",  # a line separator that is no line end of a file
    "</script><script>alert(1)</script>",
    "a&amp;\"'<",
    "\x01\x1b[31m",
    "\U0010ffff",
)
LABELS = ("לא", "<b>ja</b>")


def words() -> list[list[str]]:
    """Words over the strange symbols; the label says whether the first of them occurs."""
    return [[a, b] for a in SYMBOLS for b in SYMBOLS] + [[a] for a in SYMBOLS]


def label(word: list[str]) -> str:
    return LABELS[SYMBOLS[0] in word]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A JSONL file of lists, and a model trained on it by the command line."""
    place = tmp_path_factory.mktemp("unicode")
    lines = [json.dumps({"sequence": word, "label": label(word)}) for word in words()]
    (place / "data.jsonl").write_text("\n".join(lines) + "\n")
    small = ["--hidden-size", "8", "--embedding-size", "4", "--epochs", "2", "--learn", "network"]
    out = str(place / "model")
    assert main(["train", str(place / "data.jsonl"), "--out", out, *small]) == 0
    return place


def test_symbols_and_labels_come_back_as_they_were(folder: Path) -> None:
    model = SequenceClassifier.load(folder / "model")
    assert set(model.alphabet_.symbols) == set(SYMBOLS)
    assert set(model.classes_.tolist()) == set(LABELS)
    assert set(model.predict(words()).tolist()) <= set(LABELS)


def test_the_automaton_as_a_file(folder: Path) -> None:
    out = folder / "dfa.json"
    command = ["extract", str(folder / "model"), "--data", str(folder / "data.jsonl")]
    assert main([*command, "--out", str(out)]) == 0
    dfa = DFA.load(out)
    assert set(dfa.alphabet) == set(SYMBOLS)
    assert DFA.from_json(dfa.to_json()) == dfa
    assert "<script>" not in dfa._repr_svg_()


class Tags(HTMLParser):
    """Counts the scripts of a page and keeps what is text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


def test_a_report_holds_them_as_text_only(folder: Path) -> None:
    out = folder / "report.html"
    command = ["report", str(folder / "model"), str(folder / "data.jsonl"), "--out", str(out)]
    assert main(command) == 0
    page = out.read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(page)
    assert "alert(1)</script><" not in page
    assert "b" not in tags.tags
    scripts = re.findall(r"<script[^>]*>", page)
    assert len(scripts) == tags.tags.count("script") == page.count("</script>")


@pytest.mark.parametrize("tokens", ["chars", "words"])
def test_lone_surrogates_and_zeros_never_get_in_unseen(tmp_path: Path, tokens: str) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"sequence": "a\\ud800b \\u0000", "label": "\\udfff"}\n')
    data = read_data(path, tokens=tokens)
    text = "".join(data.words[0])
    assert "\ufffd" in text
    assert "\0" in text  # a character like any other, where JSON spells it
    assert data.labels == ["\ufffd"]
    text.encode()


@pytest.mark.parametrize("ending", ["tsv", "csv", "jsonl"])
@pytest.mark.parametrize("bad", [b"\0", b"\xed\xa0\x80"])
def test_raw_zeros_and_surrogates_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], ending: str, bad: bytes
) -> None:
    path = tmp_path / f"data.{ending}"
    path.write_bytes(b"word\tlabel\n" + bad + b"\t1\n")
    assert main(["train", str(path), "--out", str(tmp_path / "model")]) == 2
    err = capfd.readouterr().err
    assert err.startswith("kleene: error: ")
    assert "line 2" in err or "line 1" in err
    assert len(err.splitlines()) == 1


def test_characters_are_code_points_and_marks_stay_with_whoever_wrote_them(tmp_path: Path) -> None:
    path = tmp_path / "data.tsv"
    path.write_text("e\u0301\tx\n\u00e9\ty\n\u05d0\u202e\tx\n", encoding="utf-8")
    data = read_data(path, tokens="chars")
    assert [list(word) for word in data.words] == [
        ["e", "\u0301"],
        ["\u00e9"],
        ["\u05d0", "\u202e"],
    ]
