"""Made-up orders: the label follows from the events."""

from __future__ import annotations

from collections import Counter, defaultdict

from kleene.datasets.made_orders import made_orders


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


def test_the_seed_decides() -> None:
    assert list(made_orders(20, seed=3)) == list(made_orders(20, seed=3))
    assert list(made_orders(20, seed=3)) != list(made_orders(20, seed=4))
