"""Made-up reviews can be learned, are the same for a seed, and come as CSV."""

from __future__ import annotations

import csv
import io

from kleene.cli import main
from kleene.datasets.made_reviews import BAD, GOOD, made_reviews


def meaning(text: str) -> str:
    """The label by the last clause, read by hand: its adjective, turned by `not`."""
    *_, before, adjective = text.rstrip(".").split()
    assert adjective in (*GOOD, *BAD)
    return "positive" if (adjective in GOOD) != (before == "not") else "negative"


def test_labels_follow_from_the_texts() -> None:
    texts, labels = made_reviews(400, seed=3)
    assert [meaning(text) for text in texts] == labels
    assert set(labels) == {"positive", "negative"}
    assert made_reviews(400, seed=3) == (texts, labels)
    assert made_reviews(400, seed=4) != (texts, labels)


def test_the_command_writes_what_train_reads(capsys) -> None:
    assert main(["sample", "reviews", "-n", "20", "--seed", "3"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    texts, labels = made_reviews(20, seed=3)
    assert rows == [["text", "label"], *([t, y] for t, y in zip(texts, labels, strict=True))]
