"""The classifier, word by word: start token, word, end token, linear layer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from networks import CELLS, MEMORY_LESS
from textbook import textbook, textbook_step
from torch import Tensor

from kleene.data.alphabet import END, START
from kleene.data.batch import Batch, make_batch
from kleene.errors import SettingError
from kleene.nn import classifier
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.nn.mode import HARD
from kleene.nn.recurrence import LookedUp

WORDS = [[4], [5, 4, 6, 4], [], [6, 6], [5], [4, 5, 6]]


def make(cell: str = "gru", seed: int = 0, **settings: object) -> Classifier:
    torch.manual_seed(seed)
    config = {"num_symbols": 7, "num_classes": 3, "input_size": 2, "hidden_size": 3}
    config |= {"num_states": 4, "num_layers": 2, "cell": cell, **settings}
    network = Classifier(NetworkConfig(**config)).double()
    with torch.no_grad():
        for layer in range(network.rnn.num_layers if config["num_states"] else 0):
            network.rnn.centroids(layer).mul_(4)
    return network


def pack(words: list[list[int]]) -> Batch:
    return make_batch([np.array(word, dtype=np.int64) for word in words])


def expected_scores(network: Classifier, word: list[int]) -> Tensor:
    """What the docstrings say, for one word."""
    E, rnn, pooling = network.embedding.weight, network.rnn, network.config.pooling
    passes = textbook(rnn, E[[START, *word]])
    top = passes[-1]
    if pooling == "last":
        x, c = E[END], None
        for layer, one in enumerate(passes):
            if network.config.end_token:
                memory = None if one.memory is None else one.memory[-1]
                x, c = textbook_step(rnn, layer, x, one.hidden[-1], memory)
            else:
                x, c = one.hidden[-1], None if one.memory is None else one.memory[-1]
        features = x if c is None else torch.cat([x, c])
    elif pooling == "states":
        features = torch.cat([10 * top.alpha.mean(0), 3 * top.alpha.max(0).values])
    else:
        steps = top.hidden if top.memory is None else torch.cat([top.hidden, top.memory], -1)
        features = steps.mean(0) if pooling == "mean" else steps.max(0).values
    return network.head.weight @ features + network.head.bias


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"end_token": False},
        {"pooling": "mean"},
        {"pooling": "max"},
        {"pooling": "states"},
        {"num_states": 0},
        {"num_layers": 1, "similarity": "euclidean", "temperature": 0.3},
        {"num_symbols": 40, "similarity": "cosine"},  # more symbols than steps
    ],
    ids=str,
)
@pytest.mark.parametrize("cell", CELLS)
def test_scores_are_those_of_each_word_alone(cell, settings) -> None:
    network = make(cell, **settings)
    batch = pack(WORDS)
    found = network(batch)
    for row, i in enumerate(batch.order):
        torch.testing.assert_close(found[row], expected_scores(network, WORDS[i]))


def test_a_table_of_symbols_has_the_gradient_of_the_vectors() -> None:
    """Few words look their vectors up, many look up rows of a product: the same to the user."""
    network = make()
    gradients = []
    for copies in (1, 20):
        network.zero_grad()
        (network(pack(WORDS[:1] * copies)).sum() / copies).backward()
        gradients.append(
            [weight.grad.clone() for weight in network.parameters() if weight.requires_grad]
        )
    for once, many in zip(*gradients, strict=True):
        torch.testing.assert_close(once, many)


def test_symbols_of_a_large_batch_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores and gradients stay; dropout takes the same entries wherever a symbol stands."""
    network, words = make(num_symbols=7), [[4, 5, 6, 4], [5, 4, 5]]

    def observed() -> tuple[Tensor, Tensor]:
        network.zero_grad()
        scores = network(pack(words))
        scores.square().sum().backward()
        assert network.embedding.weight.grad is not None
        return scores.detach(), network.embedding.weight.grad.clone()

    plain = observed()
    monkeypatch.setattr(classifier, "MANY_SYMBOLS", 0)
    monkeypatch.setattr(classifier, "MANY_STEPS", 0)
    for one, other in zip(plain, observed(), strict=True):
        assert torch.allclose(one, other, atol=1e-6)
    noisy = make(num_symbols=7, dropout=0.5).train()
    gates = noisy._gates(torch.tensor([4, 4, 5, 4]), 1, drops=True)
    assert isinstance(gates, LookedUp)
    rows = gates.gates()
    assert torch.equal(rows[1], rows[2])
    assert torch.equal(rows[1], rows[4])
    assert not torch.equal(
        rows[1], noisy.eval()._gates(torch.tensor([4]), 1, drops=False).gates()[1]
    )


def test_vectors_as_input_are_embeddings_already_looked_up() -> None:
    symbols = make(num_layers=1)
    vectors = make(num_layers=1, num_symbols=0)
    state = symbols.state_dict()
    table = state.pop("embedding.weight")
    vectors.load_state_dict({**state, "embedding.weight": table[: END + 1]})
    batch = pack(WORDS)
    looked_up = Batch(
        tokens=table[torch.from_numpy(batch.tokens)].numpy(),
        batch_sizes=batch.batch_sizes,
        lengths=batch.lengths,
        order=batch.order,
    )
    torch.testing.assert_close(vectors(looked_up), symbols(batch))


def test_dropout_is_for_training_only() -> None:
    network = make(dropout=0.5)
    batch = pack(WORDS)
    assert not torch.equal(network(batch), network(batch))
    network.eval()
    assert torch.equal(network(batch), network(batch))
    torch.testing.assert_close(network(batch)[0], expected_scores(network, WORDS[batch.order[0]]))


def test_a_trace_starts_after_the_start_token() -> None:
    network = make("lstm")
    batch = pack(WORDS)
    trace = network.trace(batch)
    assert trace.lengths.tolist() == [1 + len(WORDS[i]) for i in batch.order]
    for row, i in enumerate(batch.order):
        for layer, one in zip(
            trace.layers,
            textbook(network.rnn, network.embedding.weight[[START, *WORDS[i]]]),
            strict=True,
        ):
            steps = 1 + len(WORDS[i])
            torch.testing.assert_close(layer.hidden[row, :steps], one.hidden)
            torch.testing.assert_close(layer.memory[row, :steps], one.memory)
            torch.testing.assert_close(layer.probs[row, :steps], one.alpha)


@pytest.mark.parametrize("cell", MEMORY_LESS)
def test_hard_steps_one_at_a_time_are_the_hard_pass(cell) -> None:
    network = make(cell, temperature=0.5)
    network.eval()
    words = [list(w) for n in range(4) for w in itertools.product([4, 5, 6], repeat=n)]
    batch = pack(words)
    trace, scores = network.trace(batch, mode=HARD), network(batch, mode=HARD)
    for row, i in enumerate(batch.order):
        states = None
        for t, token in enumerate([START, *words[i]]):
            probs, states = network.advance(states, torch.tensor([token]))
            assert torch.equal(states[0], trace.global_states[row, t])
            for alpha, layer in zip(probs, trace.layers, strict=True):
                torch.testing.assert_close(alpha[0], layer.probs[row, t])
        torch.testing.assert_close(network.classify_states(states)[0], scores[row])


def test_a_config_survives_a_dictionary() -> None:
    config = NetworkConfig(num_symbols=7, num_classes=3, cell="lstm-p", temperature=0.3)
    assert NetworkConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cell": "transformer"}, "cell must be one of gru, lstm, lstm-p, .*got 'transformer'"),
        ({"transition": "x"}, "soft-argmax"),
        ({"similarity": "x"}, "euclidean"),
        ({"pooling": "x"}, "mean"),
        ({"pooling": "states", "num_states": 0}, "num_states=0"),
        ({"num_states": -1}, ">= 0"),
        ({"hidden_size": 0}, ">= 1"),
        ({"hidden_size": 2.5}, "integer"),
        ({"num_layers": True}, "integer"),
        ({"dropout": 1.0}, "dropout"),
        ({"temperature": 0.0}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"colour": "red"}, "newer version"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense(settings, message) -> None:
    with pytest.raises(SettingError, match=message):
        NetworkConfig.from_dict({"num_symbols": 7, "num_classes": 3, **settings})


def test_missing_settings() -> None:
    with pytest.raises(SettingError, match="num_classes"):
        NetworkConfig.from_dict({"num_symbols": 7})


@pytest.mark.parametrize("value", ["0.3", None, [1], {}])
@pytest.mark.parametrize("name", ["temperature", "dropout", "cell", "transition"])
def test_settings_of_the_wrong_kind(name, value) -> None:
    with pytest.raises(SettingError):
        NetworkConfig.from_dict({"num_symbols": 7, "num_classes": 3, name: value})


def test_options_without_effect_are_refused_but_read_from_old_files() -> None:
    given = {"num_symbols": 7, "num_classes": 3}
    assert NetworkConfig(**given).end_token
    assert not NetworkConfig(**given, pooling="mean").end_token
    for settings, message in (
        ({"pooling": "max", "end_token": True}, "end_token=True has an effect with pooling='last'"),
        ({"num_states": 0, "learn_temperature": True}, "learn_temperature=True has an effect"),
    ):
        with pytest.raises(SettingError, match=message):
            NetworkConfig(**given, **settings)
        old = NetworkConfig.from_dict({**given, **settings})  # as version 0.1 wrote it
        assert not old.end_token or old.pooling == "last"
        assert not old.learn_temperature
