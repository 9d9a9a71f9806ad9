"""Prototypes against plain loops over the trace of each word."""

import json
from collections import defaultdict

import numpy as np
import pytest
from toy_readers import ALPHABET, CLASSES, toy_network, toy_words

from kleene.errors import DataError, ReadingError
from kleene.explain.explain import explain_many
from kleene.explain.prototypes import prototypes

WORDS = toy_words(80)
LABELS = [CLASSES[len(word) % 2] for word in WORDS]


def by_loops(network, labels=None):
    """(state, symbol) -> probabilities, and (class, symbol) -> those of the predicting state."""
    of_state, of_class = defaultdict(list), defaultdict(list)
    for i, found in enumerate(explain_many(network, ALPHABET, CLASSES, WORDS)):
        label = found.prediction if labels is None else labels[i]
        for symbol, row in zip(found.word, found.probs, strict=True):
            if symbol in ALPHABET:
                for state, p in enumerate(row):
                    of_state[state, symbol].append(p)
                of_class[label, symbol].append(row[found.predicting_state])
    return of_state, of_class


def ranked(sums, key, top, min_count):
    rows = [
        (-np.mean(values), symbol, max(values), len(values))
        for (which, symbol), values in sums.items()
        if which == key and len(values) >= min_count
    ]
    return sorted(rows)[:top]


@pytest.mark.parametrize("labels", [None, LABELS])
def test_symbols_rank_by_their_mean_transition_probability(labels) -> None:
    network = toy_network()
    found = prototypes(network, ALPHABET, CLASSES, WORDS, labels=labels, top=4, min_count=3)
    of_state, of_class = by_loops(network, labels)
    expected = {i: ranked(of_state, i, 4, 3) for i in range(4)}
    expected |= {label: ranked(of_class, label, 4, 3) for label in CLASSES}
    for key, rows in expected.items():
        mine = found.states[key] if isinstance(key, int) else found.classes[key]
        assert [p.symbol for p in mine] == [symbol for _, symbol, _, _ in rows]
        for p, (mean, _, most, count) in zip(mine, rows, strict=True):
            assert p.mean == pytest.approx(-mean, abs=1e-5)
            assert p.most == pytest.approx(most, abs=1e-5)
            assert p.count == count


def test_visits_and_labels_of_states() -> None:
    network = toy_network(seed=1)
    found = prototypes(network, ALPHABET, CLASSES, WORDS)
    explained = explain_many(network, ALPHABET, CLASSES, WORDS)
    visited = np.concatenate([e.states for e in explained])
    assert np.allclose(found.visits, np.bincount(visited, minlength=4) / len(visited))
    assert found.state_labels == explained[0].state_labels


def test_rare_symbols_count_only_where_nothing_is_frequent() -> None:
    network = toy_network()
    found = prototypes(network, ALPHABET, CLASSES, [("good", "good", "bad")], min_count=2)
    assert [p.symbol for p in found.states[0]] == ["good"]
    found = prototypes(network, ALPHABET, CLASSES, [("good", "good", "bad")], min_count=5)
    assert [p.symbol for p in found.states[0]] == ["good"]
    empty = prototypes(network, ALPHABET, CLASSES, [(), ("unheard",)])
    assert empty.states == ((),) * 4


def test_they_show_and_save() -> None:
    found = prototypes(toy_network(), ALPHABET, CLASSES, WORDS, top=3)
    assert len(str(found).splitlines()) == 1 + 4 + 1 + 1 + 2
    content = json.loads(json.dumps(found.to_dict()))
    assert [s["symbols"][0]["symbol"] for s in content["states"]] == [
        s[0].symbol for s in found.states
    ]
    assert found._repr_html_().count("<tr>") == 1 + 4 + 1 + 2


def test_mistakes_are_named() -> None:
    with pytest.raises(DataError, match="2 labels came for 80 words"):
        prototypes(toy_network(), ALPHABET, CLASSES, WORDS, labels=CLASSES)
    with pytest.raises(DataError, match="'meh' is none of the network's classes"):
        prototypes(toy_network(), ALPHABET, CLASSES, WORDS[:1], labels=["meh"])
    with pytest.raises(ReadingError, match="reads vectors"):
        prototypes(toy_network(num_symbols=0), None, CLASSES, [])
