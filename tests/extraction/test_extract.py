"""Extraction against automata that are known because the network was built from them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from built_models import built_model, random_dfa, random_model
from hard_machine import HardMachine

from kleene.automata import DFA
from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.errors import AlphabetError, ExtractionError, SettingError
from kleene.extraction.extract import extract
from kleene.languages import tomita
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.training.loop import fit
from kleene.training.stages import Curriculum, Stage

METHODS = ("auto", "table", "counts", "mean", "lstar")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_every_method_finds_the_automaton_that_was_built_in(method: str, seed: int) -> None:
    dfa = random_dfa(seed, states=5)
    reading = extract(built_model(dfa), method=method)
    assert reading.dfa == dfa
    assert reading.dfa.num_states == dfa.minimize().num_states
    assert reading.faithful
    assert reading.fidelity.overall == 1
    assert reading.fidelity.longest > 40  # up to ten times the training length, 8
    assert reading.disagreement is None


@pytest.mark.parametrize("number", range(1, 8))
def test_all_tomita_grammars_as_networks(number: int) -> None:
    truth = tomita(number).dfa
    reading = extract(built_model(truth))
    assert (reading.dfa, reading.method) == (truth, "table")
    assert reading.seconds < 10


@pytest.mark.parametrize("method", METHODS)
def test_several_layers_have_tuple_states(method: str) -> None:
    dfa = random_dfa(7)
    reading = extract(built_model(dfa, layers=2), method=method)
    assert reading.dfa == dfa
    if method != "lstar":
        assert all(name == "sink" or "/" in name for name in reading.raw.names)


@pytest.mark.parametrize("method", METHODS)
def test_more_than_two_classes_and_symbols_that_are_words(method: str) -> None:
    small = random_dfa(3, states=6, labels=3)
    dfa = DFA(alphabet=("go", "stop"), transitions=small.transitions, outputs=small.outputs)
    reading = extract(built_model(dfa), [("go", "go", "stop")] * 3 + [()], method=method)
    if method in ("table", "lstar", "auto"):  # the others need words that show everything
        assert reading.dfa == dfa
    else:
        assert reading.unseen or reading.disagreement is not None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("layers", [1, 2])
def test_table_and_hard_mode_are_the_same_machine(seed: int, layers: int) -> None:
    model = random_model(seed, layers=layers)
    reading = extract(model, method="table")
    assert reading.raw.difference(HardMachine(model)) is None


def test_pairs_that_no_word_shows_lead_to_a_rejecting_sink_and_are_listed() -> None:
    dfa = DFA.from_table({0: {"a": 0, "b": 1}, 1: {"a": 1, "b": 0}}, start=0, accept={0, 1})
    model = built_model(
        DFA(alphabet=dfa.alphabet, transitions=dfa.transitions, outputs=(True, False))
    )
    reading = extract(model, ["aaa"], method="counts")
    assert ("1", "b") in reading.unseen
    assert not reading.dfa.accepts("b")
    assert any("never seen" in step for step in reading.steps)


def test_own_words_depend_on_the_seed_only() -> None:
    model = random_model(1)
    one, two = (extract(model, method="counts", seed=4) for _ in range(2))
    assert one.raw.rows == two.raw.rows
    assert one.fidelity == two.fidelity


def test_result_prints_and_serialises() -> None:
    dfa = random_dfa(0)
    reading = extract(built_model(dfa))
    content = json.loads(json.dumps(reading.to_dict()))
    assert DFA.from_json(content["dfa"]) == dfa
    assert content["faithful"] is True
    assert content["method"] == "table"
    assert "none found" in str(reading)
    assert "<svg" in reading._repr_html_()
    assert "gives the automaton's label to every sequence" in str(reading)
    assert str(reading.certificate) not in str(reading)
    assert str(reading.certificate) in reading.to_text(verbose=True)


def test_probabilities_of_the_table_are_those_of_its_most_likely_steps() -> None:
    for layers in (1, 2):
        reading = extract(random_model(3, layers=layers), method="table")
        assert reading.pfa is not None
        likely = np.asarray(reading.pfa.transitions).argmax(-1)
        np.testing.assert_array_equal(likely, reading.raw.transitions)


def test_table_of_an_lstm_says_why_not_and_what_to_do() -> None:
    with pytest.raises(ExtractionError, match=r"memory beside its state.*counts or mean.*lstar"):
        extract(random_model(0, cell="lstm"), method="table")


def test_a_network_without_centroids_names_the_methods_that_work() -> None:
    model = random_model(0, states=0)
    for method in ("table", "counts", "mean"):
        with pytest.raises(ExtractionError, match="method lstar"):
            extract(model, method=method)
    assert extract(model).method == "lstar"


def test_a_network_without_centroids_over_many_symbols_has_an_automaton_of_one_state() -> None:
    reading = extract(random_model(0, symbols="".join(map(chr, range(200, 500))), states=0))
    assert (reading.method, reading.dfa.num_states) == ("constant", 1)
    assert any("300 symbols are too many" in step for step in reading.steps)


def test_mistakes_are_named() -> None:
    model = built_model(random_dfa(0))
    with pytest.raises(AlphabetError, match=r"1 of 2 words .*'c', 'd'"):
        extract(model, ["ab", "acd"])
    with pytest.raises(AlphabetError, match="a list of words"):
        extract(model, "ab")
    with pytest.raises(SettingError, match="one of auto, table"):
        extract(model, method="magic")
    with pytest.raises(SettingError, match="needs its alphabet"):
        extract(lambda words: [True] * len(words))


def test_the_hard_machine_names_a_symbol_it_does_not_have() -> None:
    machine = HardMachine(built_model(random_dfa(0)))
    with pytest.raises(AlphabetError, match="symbol 'z' is not in the alphabet"):
        machine.step(machine.start(), "z")


def test_lstar_keeps_to_its_bounds_and_says_so() -> None:
    reading = extract(built_model(random_dfa(5, states=30)), method="lstar", seconds=0)
    assert any("limit" in step for step in reading.steps)
    many = built_model(random_dfa(0, states=2, symbols="".join(map(chr, range(200, 500)))))
    with pytest.raises(ExtractionError, match="300 symbols"):
        extract(many, method="lstar")


@pytest.fixture(scope="module")
def trained_lstm() -> Model:
    """An LSTM that knows Tomita 1, whether a word has ones only."""
    words, labels = tomita(1).sample(600, lengths=range(12), seed=0)
    alphabet = Alphabet("01")
    examples = Examples(words=alphabet.encode_many(words), labels=np.array(labels, dtype=np.int64))
    torch.manual_seed(0)
    network = Classifier(
        NetworkConfig(
            num_symbols=len(alphabet),
            num_classes=2,
            cell="lstm",
            input_size=8,
            hidden_size=16,
            num_states=6,
            similarity="euclidean",
            temperature=0.3,
        )
    )
    stage = Stage(epochs=60, learning_rate=1e-2, target=1.0, curriculum=Curriculum())
    fit(network, examples, stages=[stage])
    return Model(network=network, alphabet=alphabet, classes=(False, True), longest=11)


def test_an_lstm_is_read_from_traces(trained_lstm: Model) -> None:
    words, _ = tomita(1).sample(400, lengths=range(12), seed=1)
    truth = tomita(1).dfa
    for method in ("counts", "mean"):
        reading = extract(trained_lstm, words, method=method)
        assert reading.method == method
        assert reading.dfa == truth or not reading.faithful  # right, or it says that it is not
        assert reading.fidelity.given > 0.95
    assert extract(trained_lstm, words).dfa == truth
