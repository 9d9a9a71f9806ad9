"""From a trained cell to a network that is an automaton, or keeps states of its own."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kleene.automata import DFA
from kleene.data.alphabet import FIRST_SYMBOL, Alphabet
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.extraction.table import transition_table
from kleene.induction.learner import induce, search_automaton
from kleene.induction.network import Comparison, evidence_of, induce_first, induce_into
from kleene.induction.teach import (
    consolidate,
    labelled_by,
    suggestions,
    teach_table,
    with_centroids,
)
from kleene.languages import Language, tomita
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.proof.certificate import Certificate
from kleene.proof.certify import certify
from kleene.training.config import TrainConfig
from kleene.training.loop import fit
from kleene.training.stages import Stage

CLASSES = (False, True)


def sample(language: Language, count: int = 600) -> tuple[list[str], list[bool]]:
    return language.sample(count, lengths=range(13), seed=1)


def examples_of(words: list[str], labels: list[bool]) -> Examples:
    encoded = Alphabet("01").encode_many(words)
    return Examples(words=encoded, labels=np.array(labels, dtype=np.int64))


def untrained(states: int = 4) -> Model:
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=FIRST_SYMBOL + 2,
        num_classes=2,
        input_size=12,
        hidden_size=24,
        num_states=states,
        similarity="euclidean",
        temperature=0.3,
    )
    network = Classifier(config).eval()
    return Model(network=network, alphabet=Alphabet("01"), classes=CLASSES, longest=12)


def test_words_are_labelled_by_the_automaton() -> None:
    language = tomita(7)
    assert language.dfa is not None
    words = [*sample(language, 50)[0], "x0"]  # x is not in its alphabet
    shown = labelled_by(language.dfa, examples_of(words, [True] * len(words)), untrained())
    read = ["".join("01"[i - FIRST_SYMBOL] for i in ids) for ids in shown.words]
    assert set(read) == set(words[:-1])
    assert [bool(label) for label in shown.labels] == [language.contains(word) for word in read]


@pytest.mark.parametrize("cell", ["gru", "rnn"])
def test_every_transition_of_a_large_table_is_taught(cell: str) -> None:
    """A random automaton of sixty states over three symbols, far too large for a few words."""
    random = np.random.default_rng(1)
    dfa = DFA(
        alphabet="abc",
        transitions=random.integers(0, 60, (60, 3)),
        outputs=tuple((random.random(60) < 0.5).tolist()),
    ).minimize()
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=FIRST_SYMBOL + 3,
        num_classes=2,
        cell=cell,
        input_size=32,
        hidden_size=48,
        num_states=2,
        similarity="euclidean",
        temperature=0.3,
    )
    alphabet = Alphabet("abc")
    model = Model(network=Classifier(config), alphabet=alphabet, classes=CLASSES, longest=12)
    words = ["".join(random.choice(list("abc"), 30)) for _ in range(40)]
    labels = np.array([dfa.accepts(word) for word in words], dtype=np.int64)
    examples = Examples(words=alphabet.encode_many(words), labels=labels)
    taught, same = consolidate(model, dfa, examples)
    assert same
    assert transition_table(taught).dfa == dfa
    assert evaluate(taught.network, examples).accuracy == 1
    assert [epoch.stage for epoch in taught.history.epochs] == ["machine"]


def test_a_network_too_small_for_an_automaton_says_so() -> None:
    random = np.random.default_rng(1)
    dfa = DFA(
        alphabet="01",
        transitions=random.integers(0, 40, (40, 2)),
        outputs=tuple((random.random(40) < 0.5).tolist()),
    )
    config = NetworkConfig(
        num_symbols=FIRST_SYMBOL + 2, num_classes=2, input_size=2, hidden_size=2, num_states=2
    )
    network = with_centroids(Classifier(config), np.zeros((dfa.num_states, 2), dtype=np.float32))
    assert not teach_table(network, dfa, CLASSES, steps=20)


def test_a_network_is_taught_a_machine_and_can_be_proved_to_be_it() -> None:
    language = tomita(2)
    assert language.dfa is not None
    words, labels = sample(language, 300)
    taught, same = consolidate(untrained(), language.dfa, examples_of(words, labels))
    assert same
    assert taught.network.rnn.num_states == language.dfa.minimize().num_states
    assert transition_table(taught).dfa == language.dfa
    assert isinstance(certify(taught, language.dfa), Certificate)


def test_a_network_that_knows_more_than_any_small_machine_is_kept() -> None:
    """Thirty words with random labels, learned by heart: no short description explains them."""
    random = np.random.default_rng(0)
    words = ["".join(random.choice(["0", "1"], 12)) for _ in range(30)]
    labels = [bool(random.integers(2)) for _ in words]
    examples, model = examples_of(words, labels), untrained()
    stage = Stage(regularized=False, epochs=500, learning_rate=1e-2, batch_size=30, target=0.999)
    fit(model.network, examples, stages=[stage])
    assert evaluate(model.network, examples).accuracy == 1
    induced = induce_into(
        model,
        examples,
        training=examples,
        held_out=None,
        clusters=(4,),
        config=TrainConfig(epochs=1),
    )
    assert "kept the network" in induced.steps
    assert induced.induction.training_errors > 0
    assert induced.model.network.rnn.num_states == model.network.rnn.num_states


def test_an_automaton_that_explains_all_rows_is_taught() -> None:
    words, labels = sample(tomita(4))
    everything = examples_of(words, labels)
    training, held_out = everything.split(0.1, 0)
    induced = induce_into(
        untrained(),
        everything,
        training=training,
        held_out=held_out,
        config=TrainConfig(),
        readability="exact",
    )
    assert transition_table(induced.model).dfa == tomita(4).dfa
    assert "from the data" in induced.steps[0]
    assert f"on {len(held_out)} held-out rows" in induced.steps[1]
    assert "taught the network the 4-state automaton" in induced.steps[2]


@pytest.mark.parametrize(
    ("automaton", "network", "baseline", "rows", "taken"),
    [
        (0, 0, 90, 200, {"exact", "prefer-small", "accuracy"}),
        (3, 3, 90, 200, {"prefer-small", "accuracy"}),
        (2, 1, 500, 1200, {"prefer-small"}),  # within one standard error
        (8, 1, 500, 1200, set()),
        (1, 0, 20, 50, set()),  # a loss of two points, though within one standard error
        (1, 0, 3, 1200, set()),  # a third of the rows of a rare class
    ],
)
def test_readability_decides_who_is_taken(
    automaton: int, network: int, baseline: int, rows: int, taken: set[str]
) -> None:
    words, labels = sample(tomita(1))
    found = induce(words, labels)
    compared = Comparison(
        automaton=automaton, network=network, baseline=baseline, rows=rows, held_out=True
    )
    choices = ("exact", "prefer-small", "accuracy")
    assert {name for name in choices if compared.takes(found, name)} == taken


@pytest.mark.parametrize(("errors", "explains"), [(3, True), (4, False)])
def test_a_small_automaton_of_hardly_any_errors_needs_no_network(
    errors: int, explains: bool
) -> None:
    found = induce(*sample(tomita(1)))
    compared = Comparison(automaton=errors, network=0, baseline=600, rows=1200, held_out=True)
    assert compared.explains(found, "prefer-small") is explains
    assert not compared.takes(found, "prefer-small")
    assert not compared.explains(found, "accuracy")


def test_a_search_without_prospects_ends_sooner() -> None:
    """Random labels: what is found leaves most errors of the most common class."""
    random = np.random.default_rng(0)
    words = ["".join(random.choice(["0", "1"], 12)) for _ in range(400)]
    examples = examples_of(words, [bool(random.integers(2)) for _ in words])
    evidence = evidence_of(untrained(), examples)
    parts = evidence.subset(np.arange(300)), evidence.subset(np.arange(300, evidence.num_words))
    whole, again, ended = (
        search_automaton(*parts, hopeless=share) for share in (np.inf, np.inf, 0.5)
    )
    assert ended.work < whole.work / 2
    assert again.work == whole.work > 0
    assert again.dfa == whole.dfa


def test_the_trade_is_one_line() -> None:
    compared = Comparison(automaton=2, network=1, baseline=600, rows=1200, held_out=True)
    line = compared.describe(induce(*sample(tomita(1))))
    assert line == "2-state automaton: 99.83%, network: 99.92% on 1,200 held-out rows"


def test_no_cell_is_trained_where_an_automaton_explains_the_rows() -> None:
    words, labels = sample(tomita(4))
    everything = examples_of(words, labels)
    found = induce_first(untrained(), everything, held_out=everything.split(0.1, 0)[1])
    assert found.taught
    assert {epoch.stage for epoch in found.model.history.epochs} == {"machine"}
    assert transition_table(found.model).dfa == tomita(4).dfa
    assert "taught the untrained network the 4-state automaton" in found.steps[-1]


def test_a_search_goes_on_from_what_was_found_before_the_training() -> None:
    words, labels = sample(tomita(7))
    labels = [label != (i % 10 == 0) for i, label in enumerate(labels)]
    everything = examples_of(words, labels)
    training, held_out = everything.split(0.1, 0)
    first = induce_first(untrained(), everything, held_out=held_out)
    assert not first.taught  # a tenth of the rows is left unexplained
    induced = induce_into(
        untrained(),
        everything,
        training=training,
        held_out=held_out,
        config=TrainConfig(epochs=1),
        first=first.induction,
        clusters=(3,),
    )
    assert induced.taught
    assert transition_table(induced.model).dfa == tomita(7).dfa


def test_rows_with_unknown_symbols_are_no_evidence() -> None:
    model = untrained()
    words = model.alphabet.encode_many(["01", "0x", "", "01"])
    evidence = evidence_of(model, Examples(words=words, labels=np.array([0, 1, 1, 1])))
    assert evidence.counts.tolist() == [[1, 1], [0, 1]]


def test_suggestions_are_automata_of_the_clusters() -> None:
    model, examples = untrained(), examples_of(*sample(tomita(2), 60))
    for suggest in suggestions(model, examples, clusters=(3, 5)):
        assert suggest().alphabet == ("0", "1")


def test_copies_with_other_centroids_share_the_rest() -> None:
    network = untrained().network
    copy = with_centroids(network, np.ones((7, 24), dtype=np.float32))
    assert copy.rnn.num_states == 7
    assert torch.equal(copy.embedding.weight, network.embedding.weight)
    assert torch.equal(copy.rnn.centroids(0), torch.ones(7, 24))
