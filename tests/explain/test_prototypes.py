"""Prototypes against plain loops over the trace of each word."""

import json
from collections import defaultdict

import numpy as np
import pytest
from toy_readers import ALPHABET, CLASSES, toy_model, toy_network, toy_words

from kleene.errors import ExtractionError
from kleene.explain.explain import explain_many
from kleene.explain.prototypes import prototypes
from kleene.explain.traces import state_labels, state_scores

WORDS = toy_words(80)


def by_loops(network):
    """(state, symbol) -> probabilities, and (class, symbol) -> those of the predicting state."""
    of_state, of_class = defaultdict(list), defaultdict(list)
    for found in explain_many(toy_model(network), WORDS):
        for symbol, row in zip(found.word, found.probs, strict=True):
            if symbol in ALPHABET:
                for state, p in enumerate(row):
                    of_state[state, symbol].append(p)
                of_class[found.prediction, symbol].append(row[found.predicting_state])
    return of_state, of_class


def ranked(sums, key, top, min_count):
    rows = [
        (-np.mean(values), symbol, len(values))
        for (which, symbol), values in sums.items()
        if which == key and len(values) >= min_count
    ]
    return sorted(rows)[:top]


def test_symbols_rank_by_their_mean_transition_probability() -> None:
    network = toy_network()
    found = prototypes(toy_model(network), iter(WORDS), top=4, min_count=3)
    of_state, of_class = by_loops(network)
    expected = {i: ranked(of_state, i, 4, 3) for i in range(4)}
    expected |= {label: ranked(of_class, label, 4, 3) for label in CLASSES}
    for key, rows in expected.items():
        mine = found.states[key] if isinstance(key, int) else found.classes[key]
        assert [p.symbol for p in mine] == [symbol for _, symbol, _ in rows]
        for p, (mean, _, count) in zip(mine, rows, strict=True):
            assert p.mean == pytest.approx(-mean, abs=1e-5)
            assert p.count == count


def test_visits_and_labels_of_states() -> None:
    network = toy_network(seed=1)
    found = prototypes(toy_model(network), WORDS)
    explained = explain_many(toy_model(network), WORDS)
    visited = np.concatenate([e.states for e in explained])
    assert np.allclose(found.visits, np.bincount(visited, minlength=4) / len(visited))
    predicted = np.concatenate([[CLASSES.index(e.prediction)] * len(e.word) for e in explained])
    by_class = np.array([np.bincount(visited[predicted == c], minlength=4) for c in range(2)])
    assert found.state_labels == state_labels(toy_model(network), by_class)


def test_states_have_the_weights_of_the_network_where_it_has_some() -> None:
    network = toy_network(pooling="states")
    found = prototypes(toy_model(network), WORDS, top=3)
    scores = state_scores(network).numpy()
    assert np.allclose(found.weights, np.stack([-np.diff(scores), np.diff(scores)], 1)[:, :, 0])
    assert found.to_dict()["states"][0]["weights"][CLASSES[1]] == found.weights[0][1]
    by_hand = defaultdict(list)
    for one in explain_many(toy_model(network), WORDS):
        own = np.array(found.weights)[:, CLASSES.index(one.prediction)]
        for symbol, weight in zip(one.word, one.probs @ own, strict=True):
            by_hand[one.prediction, symbol].append(weight)
    for label, best in found.classes.items():
        for prototype in best:
            assert prototype.mean == pytest.approx(
                np.mean(by_hand[label, prototype.symbol]), abs=1e-4
            )


def test_rare_symbols_count_only_where_nothing_is_frequent() -> None:
    network = toy_network()
    found = prototypes(toy_model(network), [("good", "good", "bad")], min_count=2)
    assert [p.symbol for p in found.states[0]] == ["good"]
    found = prototypes(toy_model(network), [("good", "good", "bad")], min_count=5)
    assert [p.symbol for p in found.states[0]] == ["good"]
    empty = prototypes(toy_model(network), [(), ("unheard",)])
    assert empty.states == ((),) * 4


def test_they_show_and_save() -> None:
    found = prototypes(toy_model(), WORDS, top=3)
    assert len(str(found).splitlines()) == 1 + 4 + 1 + 1 + 2
    content = json.loads(json.dumps(found.to_dict()))
    assert [s["symbols"][0]["symbol"] for s in content["states"]] == [
        s[0].symbol for s in found.states
    ]
    assert found._repr_html_().count("<tr>") == 1 + 4 + 1 + 2


def test_vectors_have_no_prototypes() -> None:
    with pytest.raises(ExtractionError, match="reads vectors"):
        prototypes(toy_model(num_symbols=0), [])
