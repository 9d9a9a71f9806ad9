"""Scores read off a trace against the network's own forward pass."""

import numpy as np
import pytest
import torch
from toy_readers import ALPHABET, NETWORKS, toy_network, toy_words

from kleene.data.batch import make_batch
from kleene.errors import DataError, ExtractionError
from kleene.evaluation.metrics import logits
from kleene.explain.traces import batched_traces, margins, prefix_scores, state_scores


@pytest.mark.parametrize("settings", NETWORKS, ids=str)
def test_a_trace_gives_the_scores_of_forward(settings: dict) -> None:
    network = toy_network(**settings)
    encoded = ALPHABET.encode_many(toy_words())
    with torch.inference_mode():
        own = torch.stack([network(make_batch([word]))[0] for word in encoded])
    for traced in batched_traces(network, encoded, batch_size=7):
        assert torch.allclose(traced.scores, own[traced.batch.order], atol=1e-5)
    assert torch.allclose(logits(network, encoded), own, atol=1e-5)


@pytest.mark.parametrize("settings", NETWORKS, ids=str)
def test_the_scores_of_prefixes_are_those_of_shorter_words(settings: dict) -> None:
    network = toy_network(**settings)
    word = ALPHABET.encode(toy_words()[0] * 3)
    (traced,) = batched_traces(network, [word])
    with torch.inference_mode():
        found = prefix_scores(network, traced.trace)[0]
        own = torch.stack([network(make_batch([word[:t]]))[0] for t in range(len(word) + 1)])
    assert torch.allclose(found, own, atol=1e-5)


def test_the_class_of_a_state_is_that_of_a_word_that_ends_there() -> None:
    network = toy_network(cell="gru", transition="soft-argmax")
    encoded = ALPHABET.encode_many(toy_words(60))
    own = state_scores(network)
    for traced in batched_traces(network, encoded):
        last = traced.states[np.arange(len(traced.batch)), traced.batch.lengths]
        assert torch.allclose(traced.scores, own[torch.from_numpy(last)], atol=1e-4)


def test_the_memory_of_a_state_is_zero() -> None:
    network = toy_network(pooling="mean", end_token=False)
    centroids = network.rnn.centroids().detach()
    by_hand = centroids @ network.head.weight[:, :7].T + network.head.bias
    assert torch.allclose(state_scores(network), by_hand, atol=1e-5)


def test_margins_are_log_odds() -> None:
    scores = torch.randn(6, 3, 4, dtype=torch.float64)
    classes = torch.tensor([0, 1, 2, 3, 0, 1])
    p = scores.softmax(-1)[torch.arange(6), :, classes]
    assert torch.allclose(margins(scores, classes), (p / (1 - p)).log())


def test_networks_without_states_and_words_of_another_kind_are_refused() -> None:
    with pytest.raises(ExtractionError, match="no states to read"):
        list(batched_traces(toy_network(num_states=0), ALPHABET.encode_many(toy_words())))
    with pytest.raises(DataError, match=r"shape \(time,\), ids, got \(3, 1\) for word 0"):
        list(batched_traces(toy_network(), [np.zeros((3, 1), np.float32)]))
    pixels = toy_network(num_symbols=0, input_size=1)
    with pytest.raises(DataError, match=r"\(time, 1\), vectors"):
        list(batched_traces(pixels, [np.zeros((3, 2), np.float32)]))


def test_reading_leaves_the_mode_of_the_network_alone() -> None:
    network = toy_network(dropout=0.5, transition="gumbel").train()
    encoded = ALPHABET.encode_many(toy_words())
    first, second = (
        torch.cat([p.scores for p in batched_traces(network, encoded)]) for _ in range(2)
    )
    assert torch.equal(first, second)
    assert network.training
