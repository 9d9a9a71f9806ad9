"""The checks of an extraction: fidelity, disagreements, ambiguous transitions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from built_models import built_model, random_dfa, random_model

from kleene.automata import DFA
from kleene.data.alphabet import Alphabet
from kleene.data.batch import make_batch
from kleene.data.examples import Examples
from kleene.errors import AlphabetError
from kleene.extraction.disagreement import Disagreement, search
from kleene.extraction.extract import extract
from kleene.extraction.fidelity import Fidelity, draw_checks, measure_fidelity
from kleene.extraction.words import Oracle
from kleene.languages import tomita
from kleene.machine import Word
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.training.loop import fit
from kleene.training.stages import Stage


def corrupted(dfa: DFA, seed: int) -> DFA:
    """The automaton with one transition led astray, to a state that is not equivalent."""
    random = np.random.default_rng(seed)
    while True:
        table = dfa.transitions.copy()
        state, column = (int(random.integers(n)) for n in table.shape)
        table[state, column] = random.integers(dfa.num_states)
        wrong = dataclasses.replace(dfa, transitions=table)
        if wrong != dfa:
            return wrong


def predicted(model: Model, word: Word) -> bool:
    with torch.inference_mode():
        scores = model.network(make_batch(model.alphabet.encode_many([word])))
    return bool(scores.argmax())


def find_disagreement(model: Model, dfa: DFA, seed: int = 0) -> Disagreement:
    return search(model, dfa, Oracle.of(model), draw_checks(model, dfa, [], seed))


def fidelity(model: Model, dfa: DFA, words: Sequence[Word] = ()) -> Fidelity:
    given, drawn = model.alphabet.encode_many(words), draw_checks(model, dfa, [], 0)
    return measure_fidelity(model, dfa, Oracle.of(model), given, drawn)


@pytest.mark.parametrize("seed", range(8))
def test_a_corrupted_table_is_caught_by_a_shortest_word(seed: int) -> None:
    dfa = random_dfa(seed, states=6).minimize()
    if dfa.num_states == 1:
        pytest.skip("one state cannot be led astray")
    model, wrong = built_model(dfa), corrupted(dfa, seed)
    truth = dfa.difference(wrong)  # the product construction, which knows nothing of networks
    found = find_disagreement(model, wrong)
    assert truth is not None
    assert found.word is not None
    assert len(found.word) == len(truth)
    assert len(found.word) <= found.exhaustive + 1
    assert fidelity(model, wrong, [truth, "a"]).overall < 1
    assert fidelity(model, dfa, [truth, "a"]).overall == 1


def test_a_difference_beyond_all_short_words_is_found_by_access_words_and_suffixes() -> None:
    length = 25  # random words meet a run of 25 letters a once in 2^25
    table = {i: {"a": min(i + 1, length), "b": 0} for i in range(length + 1)}
    dfa = DFA.from_table(table, start=0, accept={length})
    never = dataclasses.replace(dfa, outputs=(False,) * dfa.num_states)
    built = built_model(dfa)
    assert fidelity(built, dfa).drawn == 1
    found = find_disagreement(built_model(never | dfa), dfa, seed=1)
    assert found.word is None
    shifted = DFA.from_table(
        {**table, length: {"a": length, "b": 1}}, start=0, accept={length}
    )  # differs from dfa only after a run of 25 and a b
    found = find_disagreement(built, shifted)
    assert found.word is not None
    assert dfa.accepts(found.word) != shifted.accepts(found.word)
    assert len(found.word) >= len(dfa.difference(shifted))


def test_disagreements_and_answers_are_the_networks() -> None:
    wrong = 0
    for seed in range(12):
        model = random_model(seed)
        reading = extract(model, method="counts")
        if reading.disagreement is not None:
            wrong += 1
            network, automaton = reading.answers
            assert predicted(model, reading.disagreement) == network
            assert reading.dfa.run(reading.disagreement) == automaton
            assert network != automaton
    assert wrong  # otherwise the loop above said nothing


def test_ambiguities_show_two_prefixes_that_go_different_ways() -> None:
    shown = 0
    for seed in range(12):
        model = random_model(seed)
        for one in extract(model, method="counts").ambiguities:
            if one.symbol is None:
                assert [predicted(model, w) for w in one.examples] == [one.next_state, one.rival]
                continue
            for prefix, after in zip(one.examples, (one.next_state, one.rival), strict=False):
                with torch.inference_mode():
                    word = prefix + str(one.symbol)
                    trace = model.network.trace(make_batch(model.alphabet.encode_many([word])))
                states = [str(s) for s in trace.states[0].tolist()]
                assert states[-2:] == [one.state, after]
                shown += 1
    assert shown


def test_fidelity_refuses_another_alphabet() -> None:
    model = built_model(random_dfa(0))
    with pytest.raises(AlphabetError, match="'x'"):
        fidelity(model, random_dfa(0, symbols="ax"))


@pytest.fixture(scope="module")
def hidden_bits() -> tuple[Model, list[Word]]:
    """Tomita 4 learned with the paper's mixture at temperature 1: right, but not by its argmax."""
    words, labels = tomita(4).sample(2000, lengths=[*range(16), 20, 25, 30], seed=0)
    alphabet = Alphabet("01")
    examples = Examples(words=alphabet.encode_many(words), labels=np.array(labels, dtype=np.int64))
    torch.manual_seed(0)
    network = Classifier(
        NetworkConfig(
            num_symbols=len(alphabet), num_classes=2, input_size=16, hidden_size=64, num_states=10
        )
    )
    stage = Stage(epochs=40, learning_rate=3e-3, batch_size=32, target=1.0)
    fit(network, examples, stages=[stage])
    model = Model(network=network, alphabet=alphabet, classes=(False, True), longest=30)
    return model, words


@pytest.mark.slow
def test_mixtures_that_hide_bits_are_read_all_the_same(
    hidden_bits: tuple[Model, list[Word]],
) -> None:
    model, words = hidden_bits
    table = extract(model, words, method="table")
    if not table.faithful:  # which weights come out of the training depends on the CPU
        assert table.disagreement is not None
        assert any(one.matters for one in table.ambiguities)
    reading = extract(model, words)
    assert reading.fidelity.overall >= table.fidelity.overall
    assert reading.dfa == tomita(4).dfa
