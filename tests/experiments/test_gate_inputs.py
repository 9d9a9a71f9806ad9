"""Centroids by what the gates see of a hidden vector."""

from __future__ import annotations

import pytest
import torch
from paper import mnist
from paper.mnist import reconstruct_gate_inputs
from toys import make_network, words_ending_in_5

from kleene.training.centroids import hidden_vectors
from kleene.training.reconstruction import reconstruct_centroids

EXAMPLES = words_ending_in_5(5)


@pytest.mark.parametrize("cell", ["lstm-p", "gru"])
def test_gates_see_less_of_an_error_that_was_measured_at_the_gates(cell, monkeypatch) -> None:
    monkeypatch.setattr(mnist, "STEPS", 500)
    network = make_network(cell=cell, num_states=10, similarity="euclidean", temperature=1.0)
    weight = network.rnn.get_parameter("weight_hh_l0").detach()
    with torch.no_grad():
        weight[:, :3] *= 10  # gates hardly see the last three units

    def error() -> float:
        centroids = network.rnn.centroids().detach()
        alpha = torch.softmax(-(torch.cdist(vectors, centroids) ** 2) / 2, -1)
        return float(((alpha @ centroids - vectors) @ weight.T).square().sum(-1).mean())

    vectors = torch.from_numpy(hidden_vectors(network, EXAMPLES))
    reconstruct_centroids(network, EXAMPLES, seed=0)
    by_vectors = error()
    reconstruct_gate_inputs(network, EXAMPLES, seed=0)
    assert error() < by_vectors
