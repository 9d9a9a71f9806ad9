"""Automata found in rows and taught to networks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kleene.automata import DFA
from kleene.data.alphabet import FIRST_SYMBOL, Alphabet
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.induction.teach import (
    automaton_answers,
    can_be_taught,
    evidence_of,
    teach,
    teach_table,
    with_centroids,
)
from kleene.languages import tomita
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.passes.table import transition_table
from kleene.proof.certificate import Certificate
from kleene.proof.certify import certify
from kleene.training.run import Run

CLASSES = (False, True)


def untrained(symbols: str = "01", cell: str = "gru", hidden: int = 24) -> Model:
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=FIRST_SYMBOL + len(symbols),
        cell=cell,
        input_size=12,
        hidden_size=hidden,
        num_states=4,
        similarity="euclidean",
        temperature=0.3,
    )
    network = Classifier(config).eval()
    return Model(network=network, alphabet=Alphabet(symbols), classes=CLASSES, longest=12)


def random_dfa(states: int, alphabet: str) -> DFA:
    random = np.random.default_rng(1)
    return DFA(
        alphabet=alphabet,
        transitions=random.integers(0, states, (states, len(alphabet))),
        outputs=tuple((random.random(states) < 0.5).tolist()),
    ).minimize()


def examples(model: Model, words: list[str]) -> Examples:
    labels = np.zeros(len(words), dtype=np.int64)
    return Examples(words=model.alphabet.encode_many(words), labels=labels)


def test_an_automaton_answers_encoded_words() -> None:
    language, model = tomita(7), untrained()
    words = [*language.sample(50, lengths=range(13), seed=1)[0], "x0"]  # x is an unknown symbol
    found = automaton_answers(language.dfa, model, model.alphabet.encode_many(words))
    assert found.tolist() == [*(int(language.contains(word)) for word in words[:-1]), -1]


@pytest.mark.parametrize("cell", ["gru", "rnn"])
def test_every_transition_of_a_large_table_is_taught(cell: str) -> None:
    """Sixty states over three symbols, far too many for a few words."""
    dfa, model = random_dfa(60, "abc"), untrained("abc", cell, hidden=48)
    random = np.random.default_rng(1)
    shown = examples(model, ["".join(random.choice(list("abc"), 30)) for _ in range(40)])
    taught, same = teach(model, dfa, shown, Run())
    assert same
    assert transition_table(taught).dfa == dfa
    answers = automaton_answers(dfa, model, shown.words)
    assert evaluate(taught.network, Examples(words=shown.words, labels=answers)).accuracy == 1
    assert [epoch.stage for epoch in taught.history.epochs] == ["machine"]


def test_a_network_too_small_for_an_automaton_says_so() -> None:
    dfa, model = random_dfa(40, "01"), untrained(hidden=2)
    network = with_centroids(model.network, np.zeros((dfa.num_states, 2), dtype=np.float32))
    assert not teach_table(network, dfa, CLASSES, steps=20)


def test_a_network_is_taught_a_machine_and_can_be_proved_to_be_it() -> None:
    language, model = tomita(2), untrained()
    words, _ = language.sample(300, lengths=range(13), seed=1)
    taught, same = teach(model, language.dfa, examples(model, words), Run())
    assert same
    assert taught.network.rnn.num_states == language.dfa.minimize().num_states
    assert isinstance(certify(taught, language.dfa), Certificate)


def test_networks_that_can_be_taught() -> None:
    config = untrained().network.config
    assert can_be_taught(config)
    for change in ({"cell": "lstm"}, {"num_layers": 2}, {"pooling": "max"}, {"num_states": 0}):
        values = {**config.to_dict(), "end_token": None, **change}
        assert not can_be_taught(NetworkConfig(**values))


def test_rows_with_unknown_symbols_are_no_evidence() -> None:
    model = untrained()
    words = model.alphabet.encode_many(["01", "0x", "", "01"])
    evidence = evidence_of(model, Examples(words=words, labels=np.array([0, 1, 1, 1])))
    assert sorted(evidence.counts.tolist()) == [[0, 1], [1, 1]]


def test_copies_with_other_centroids_share_the_rest() -> None:
    network = untrained().network
    copy = with_centroids(network, np.ones((7, 24), dtype=np.float32))
    assert copy.rnn.num_states == 7
    assert torch.equal(copy.embedding.weight, network.embedding.weight)
    assert torch.equal(copy.rnn.centroids(0), torch.ones(7, 24))
