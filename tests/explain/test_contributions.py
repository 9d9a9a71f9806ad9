"""Contributions of steps to the logits, against the network's own forward pass."""

from __future__ import annotations

import pytest
import torch
from toy_readers import ALPHABET, toy_network, toy_words

from kleene.errors import ReadingError
from kleene.explain.batched_traces import batched_traces
from kleene.explain.contributions import contributions, state_weights
from kleene.explain.scoring import state_scores


@pytest.mark.parametrize("transition", ["mixture", "soft-argmax", "gumbel"])
@pytest.mark.parametrize("cell", ["gru", "lstm-p"])
def test_the_steps_add_up_to_the_logits(cell: str, transition: str) -> None:
    network = toy_network(cell=cell, transition=transition, pooling="states")
    for traced in batched_traces(network, ALPHABET.encode_many(toy_words()), batch_size=7):
        with torch.inference_mode():
            total = contributions(network, traced.trace).sum(1) + network.head.bias
            own = network(traced.batch)
        torch.testing.assert_close(total, own, rtol=0, atol=1e-5)


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


def test_the_weight_of_a_state_is_the_logits_of_a_word_that_stays_in_it() -> None:
    network = toy_network(pooling="states")
    stay = torch.eye(4)
    own = network.classify_statistics(stay, stay) - network.head.bias
    torch.testing.assert_close(state_scores(network), own.detach())


def test_opaque_networks_have_no_weights_of_states() -> None:
    with pytest.raises(ReadingError, match="pooling='states'"):
        state_weights(toy_network(pooling="max"))
