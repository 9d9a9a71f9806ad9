"""Made-up reviews and orders: labels follow from the content, seeds repeat, reviews come as CSV."""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict

from kleene.cli import main
from kleene.datasets.samples import BAD, GOOD, made_orders, made_reviews


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


def test_the_label_of_an_order_follows_from_its_events() -> None:
    cases: dict[str, list[tuple[str, str]]] = defaultdict(list)
    labels: dict[str, str] = {}
    for case, event, time, label in made_orders(300, seed=1):
        cases[case].append((time, event))
        assert labels.setdefault(case, label) == label
    for case, events in cases.items():
        assert events == sorted(events)
        names = {event for _, event in events}
        bad = bool(names & {"delayed", "damaged"}) and "refunded" not in names
        assert labels[case] == ("complained" if bad else "content")
    assert len(cases) == 300
    assert min(Counter(labels.values()).values()) > 50


def test_the_seed_decides_orders() -> None:
    assert list(made_orders(20, seed=3)) == list(made_orders(20, seed=3))
    assert list(made_orders(20, seed=3)) != list(made_orders(20, seed=4))
