"""Contributions of steps to the logits, against the network's own forward pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from toy_readers import ALPHABET, toy_network, toy_words

from kleene.data.examples import Examples
from kleene.explain.methods import contributions
from kleene.explain.traces import batched_traces, state_scores
from kleene.nn.classifier import Classifier, full_weights, state_weights
from kleene.training.loop import fit
from kleene.training.run import Run
from kleene.training.stages import Stage
from kleene.training.typical_states import agreement


def typical(network: Classifier) -> Classifier:
    """The network with statistics of states as if of training words."""
    network.typical[0] = torch.tensor([0.4, 0.3, 0.2, 0.1])
    network.typical[1] = torch.tensor([0.9, 0.5, 0.4, 0.2])
    return network


@pytest.mark.parametrize("transition", ["mixture", "soft-argmax", "gumbel"])
@pytest.mark.parametrize("cell", ["gru", "lstm-p"])
def test_the_steps_add_up_to_the_logits(cell: str, transition: str) -> None:
    network = typical(toy_network(cell=cell, transition=transition, pooling="states"))
    for traced in batched_traces(network, ALPHABET.encode_many(toy_words()), batch_size=7):
        with torch.inference_mode():
            shares = contributions(network, traced.trace).sum(1)
            mean, largest = network.head.weight.T.chunk(2)
            visited = traced.trace.weights.amax(1).clamp(max=network.typical[1])  # absent states
            rest = network.head.bias + 10 * network.typical[0] @ mean + 3 * visited @ largest
            own = network(traced.batch)
        torch.testing.assert_close(shares + rest, own, rtol=0, atol=1e-5)


def test_a_maximum_counts_once_where_the_state_peaks() -> None:
    network = toy_network(pooling="states")
    with torch.no_grad():
        network.head.weight[:, :4] = 0  # nothing on the mean
        network.head.weight[:, 5:] = 0  # nothing on the maximum of other states
    (word,) = ALPHABET.encode_many([("good", "bad", "film", "not")])
    (traced,) = batched_traces(network, [word])
    found = contributions(network, traced.trace)[0]
    peak = int(traced.trace.weights[0, :, 0].argmax())
    assert found.abs().sum(-1).nonzero().flatten().tolist() == [peak]


def test_the_weight_of_a_state_is_the_gain_of_a_word_that_stays_in_it() -> None:
    network = typical(toy_network(pooling="states"))
    with torch.inference_mode():
        usual = network.classify_statistics(*network.typical[:2])
        for state, own in enumerate(full_weights(network)):
            mean, largest = torch.eye(4)[state], network.typical[1].clone()
            largest[state] = 1
            gain = network.classify_statistics(mean, largest) - usual
            torch.testing.assert_close(own, gain, atol=1e-5, rtol=0)
    torch.testing.assert_close(state_scores(network), full_weights(network))


def test_a_state_that_every_word_visits_has_no_share_of_the_maximum() -> None:
    network = toy_network(pooling="states")
    network.typical[1] = 1
    (word,) = ALPHABET.encode_many([("good", "bad")])
    (traced,) = batched_traces(network, [word])
    alone = traced.trace.weights @ state_weights(network)[0] / 3
    torch.testing.assert_close(contributions(network, traced.trace), alone)


def test_training_records_what_is_typical() -> None:
    network = toy_network(pooling="states")
    words = [word for word in ALPHABET.encode_many(toy_words()) if len(word)]
    examples = Examples(words=words, labels=np.arange(len(words)) % 2)
    fit(network, examples, stages=[Stage(epochs=1)], run=Run(seed=0))
    rows = [traced.trace.weights[0] for w in words for traced in batched_traces(network, [w])]
    expected = torch.stack([sum(row.mean(0) for row in rows), sum(row.amax(0) for row in rows)])
    torch.testing.assert_close(network.typical[:2], expected / len(words), atol=1e-5, rtol=0)


def test_symbols_of_a_state_agree_with_its_weight_or_not() -> None:
    network = toy_network(pooling="states")
    ids = ALPHABET.encode(("good", "bad", "film"))
    probs, counts = np.zeros((len(ALPHABET), 4)), np.zeros((len(ALPHABET), 2))
    counts[ids] = [[2, 40], [40, 2], [30, 30]]
    counts[ids[0]] = [2, 40]
    probs[ids, 0] = [42 * 0.9, 42 * 0.1, 60 * 0.5]  # "good" leads to state 0, and "film" half so
    with torch.no_grad():
        network.head.weight.zero_()
        network.head.weight[1, 0] = 1.0  # which speaks for the class of "good",
        network.head.weight[0, 1] = 1.0
    found = agreement(network, probs, counts)[0]
    assert found == pytest.approx(0.9 / 1.4)  # "bad" is too rarely there to count
    probs[ids[2], 0] = 60 * 0.4
    assert agreement(network, probs, counts)[0] == pytest.approx(1)
    assert agreement(network, probs[:1], counts[:1]).tolist() == [0, 0, 0, 0]
