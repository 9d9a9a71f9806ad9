"""The automaton over words inside a network that classifies its states."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from kleene.data.alphabet import Alphabet
from kleene.data.batch import make_batch
from kleene.errors import ExtractionError
from kleene.extraction.table import transition_table
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.nn.inference import inference
from kleene.proof.certify import certify

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
from state_model import clear_transitions, state_model
from word_substitutions import substitutions

WORDS = tuple(f"word{i}" for i in range(40))


def text_model(cell: str = "gru", transition: str = "soft-argmax", seed: int = 0) -> Model:
    torch.manual_seed(seed)
    config = NetworkConfig(
        num_symbols=len(WORDS) + 4,
        num_classes=2,
        cell=cell,
        input_size=8,
        hidden_size=8,
        num_states=5,
        pooling="states",
        transition=transition,
    )
    network = Classifier(config)
    with torch.no_grad():
        network.rnn.centroids(0).mul_(4)
        network.embedding.weight.mul_(3)
        network.head.weight.mul_(3)
    return Model(network=network, alphabet=Alphabet(WORDS), classes=("bad", "good"), tokens="words")


def texts(count: int, seed: int = 1) -> list[tuple[str, ...]]:
    random = np.random.default_rng(seed)
    return [tuple(random.choice(WORDS, random.integers(1, 9))) for _ in range(count)]


def log_odds(model: Model, words: list[tuple[str, ...]]) -> np.ndarray:
    batch = make_batch(model.alphabet.encode_many(words))
    with inference(model.network):
        scores = model.network(batch).numpy()
    found = np.empty(len(words))
    found[batch.order] = scores[:, 1] - scores[:, 0]
    return found


def test_its_class_is_the_state_after_the_last_word() -> None:
    model = text_model()
    dfa = transition_table(state_model(model)).dfa
    for word in texts(30):
        with inference(model.network):
            states = model.network.trace(make_batch(model.alphabet.encode_many([word]))).states
        assert dfa.run(word) == int(states[0, -1])


def gaps(model: Model) -> np.ndarray:
    """The least log-odds of each word's next states against any other."""
    probs = transition_table(state_model(model)).probs
    assert probs is not None
    best = np.sort(np.log(probs), -1)
    return (best[..., -1] - best[..., -2]).min(0)


def test_clear_transitions_leave_the_automaton_and_no_close_call() -> None:
    model = text_model()
    before = transition_table(state_model(model)).dfa
    margin = float(np.sort(gaps(model))[5])
    assert clear_transitions(model, margin) == 5
    assert transition_table(state_model(model)).dfa == before
    assert gaps(model).min() >= margin
    assert certify(state_model(model)).holds


def test_substitutions_are_those_that_trying_them_all_finds() -> None:
    model = text_model()
    words = texts(8)
    for word, found in zip(words, substitutions(model, words), strict=True):
        every = [(*word[:i], w, *word[i + 1 :]) for i in range(len(word)) for w in WORDS]
        scores = log_odds(model, every)
        assert found.log_odds == pytest.approx(log_odds(model, [word])[0], abs=1e-4)
        assert found.least == pytest.approx(scores.min(), abs=1e-4)
        assert found.most == pytest.approx(scores.max(), abs=1e-4)
        assert found.certified == (np.unique(scores > 0).size == 1)


def test_networks_with_memory_have_no_such_automaton() -> None:
    with pytest.raises(ExtractionError, match="without memory"):
        state_model(text_model("lstm-p"))


def test_mixtures_have_no_visit_counts() -> None:
    with pytest.raises(ExtractionError, match="soft-argmax"):
        substitutions(text_model(transition="mixture"), texts(1))


def test_unknown_words_are_refused() -> None:
    with pytest.raises(ExtractionError, match="known words"):
        substitutions(text_model(), [("word1", "never seen")])
