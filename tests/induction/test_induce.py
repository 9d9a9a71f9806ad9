"""From a trained cell to a network that is a machine: mending, teaching, and undoing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from kleene.automata import DFA
from kleene.data.alphabet import FIRST_SYMBOL, Alphabet
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.extraction.table import read_table
from kleene.induction.candidates import small_machines, with_centroids
from kleene.induction.distil import access_words, consolidate, state_means, teaching_words
from kleene.induction.induce import settle
from kleene.induction.refine import Evidence, describe_bits, judge, mend
from kleene.languages import Language, tomita
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.proof.certificate import Certificate
from kleene.proof.certify import certify
from kleene.training.loop import fit
from kleene.training.recipes import TrainConfig
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


@pytest.mark.parametrize("grammar", [2, 3, 4, 5, 6, 7])
def test_errors_are_those_of_the_automaton(grammar: int) -> None:
    words, labels = sample(tomita(grammar))
    dfa = tomita(grammar % 7 + 1).dfa  # another language, with errors to count
    assert dfa is not None
    evidence = Evidence.of(words, labels, dfa, CLASSES)
    found = judge(dfa.transitions, dfa.initial, evidence)
    wrong = sum(found.dfa.accepts(word) != label for word, label in zip(words, labels, strict=True))
    assert found.errors == wrong
    assert found.words == len(words)


@pytest.mark.parametrize("grammar", [3, 4, 5, 7])
def test_a_wrong_transition_is_mended(grammar: int) -> None:
    language = tomita(grammar)
    truth = language.dfa
    assert truth is not None
    words, labels = sample(language)
    table = truth.minimize().transitions.copy()
    state = int(np.flatnonzero(table[:, 0] != truth.initial)[0])
    table[state, 0] = truth.initial
    wrong = replace(truth.minimize(), transitions=table)
    assert wrong != truth
    assert mend(wrong, Evidence.of(words, labels, wrong, CLASSES)).dfa == truth


def test_useless_states_are_merged_away() -> None:
    language = tomita(4)
    truth = language.dfa
    assert truth is not None
    words, labels = sample(language)
    small = truth.minimize()
    doubled = DFA(
        alphabet=small.alphabet,
        transitions=np.concatenate([small.transitions + len(small.outputs), small.transitions]),
        outputs=small.outputs * 2,
    )
    mended = mend(doubled, Evidence.of(words, labels, doubled, CLASSES))
    assert mended.dfa == truth
    assert mended.errors == 0
    assert mended.bits == describe_bits(small.num_states, 2, 0, len(words))


def test_a_few_flipped_labels_do_not_bend_the_machine() -> None:
    language = tomita(6)
    truth = language.dfa
    assert truth is not None
    words, labels = sample(language)
    random = np.random.default_rng(0)
    flipped = [label != (random.random() < 0.05) for label in labels]
    assert flipped != labels
    assert mend(truth, Evidence.of(words, flipped, truth, CLASSES)).dfa == truth


def test_small_machines_are_found_without_a_network() -> None:
    language = tomita(5)
    words, labels = sample(language)
    found = small_machines(words, labels, ("0", "1"), CLASSES)
    assert found is not None
    assert found.dfa == language.dfa
    assert small_machines(words, labels, range(1000), CLASSES) is None


def test_access_words_lead_to_their_states() -> None:
    dfa = tomita(3).dfa
    assert dfa is not None
    dfa = dfa.minimize()
    for state, columns in enumerate(access_words(dfa)):
        assert dfa.trace([dfa.alphabet[c] for c in columns])[-1] == state


def test_teaching_words_show_every_transition_and_carry_the_machines_labels() -> None:
    dfa = tomita(7).dfa
    assert dfa is not None
    dfa = dfa.minimize()
    lessons = teaching_words(dfa, examples_of(*sample(tomita(7), 50)), CLASSES, 0)
    seen = set()
    for ids, label in zip(lessons.words, lessons.labels, strict=True):
        word = [dfa.alphabet[i - FIRST_SYMBOL] for i in ids]
        states = dfa.trace(word)
        seen |= set(zip(states, word, strict=False))
        assert dfa.accepts(word) == bool(label)
    assert len(seen) == dfa.num_states * len(dfa.alphabet)


def test_state_means_are_the_means_of_the_hidden_vectors() -> None:
    model, dfa = untrained(), tomita(2).dfa
    assert dfa is not None
    dfa = dfa.minimize()
    words, labels = sample(tomita(2), 40)
    means = state_means(model.network, examples_of(words, labels), dfa, 0)
    rows: dict[int, list[torch.Tensor]] = {}
    with torch.no_grad():
        for word in words:
            single = examples_of([word], [True]).batch(np.array([0]))
            hidden = model.network.trace(single).hidden[0]
            for state, vector in zip(dfa.trace(word), hidden, strict=True):
                rows.setdefault(state, []).append(vector)
    gaps = [np.abs(means[s] - torch.stack(v).mean(0).numpy()).max() for s, v in rows.items()]
    assert len(gaps) == dfa.num_states
    assert min(gaps) < 1e-5  # states too near to each other are moved apart on purpose


def test_a_network_is_taught_a_machine_and_can_be_proved_to_be_it() -> None:
    language = tomita(2)
    assert language.dfa is not None
    words, labels = sample(language, 300)
    taught, same = consolidate(untrained(), language.dfa, examples_of(words, labels))
    assert same
    assert taught.network.rnn.num_states == language.dfa.minimize().num_states
    assert read_table(taught).dfa == language.dfa
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
    settled = settle(
        model,
        examples,
        words,
        labels,
        training=examples,
        held=None,
        clusters=(4,),
        settings=TrainConfig(epochs=1),
    )
    assert any("kept the network" in step for step in settled.steps)
    assert settled.model.network.rnn.num_states == model.network.rnn.num_states


def test_copies_with_other_centroids_share_the_rest() -> None:
    network = untrained().network
    copy = with_centroids(network, np.ones((7, 24), dtype=np.float32))
    assert copy.rnn.num_states == 7
    assert torch.equal(copy.embedding.weight, network.embedding.weight)
    assert torch.equal(copy.rnn.centroids(0), torch.ones(7, 24))
