"""`inference`: eval mode for a block, and the network as it was afterwards."""

from __future__ import annotations

import pytest
import torch

from kleene.nn import SRGRU, inference
from kleene.nn.transition import gumbel, soft_argmax


@pytest.fixture
def network() -> SRGRU:
    torch.manual_seed(0)
    return SRGRU(3, 8, num_layers=2, dropout=0.5, num_states=4, transition=gumbel)


def test_inside_every_vector_is_a_centroid(network: SRGRU) -> None:
    with inference(network, hard=True):
        output, _ = network(torch.randn(6, 2, 3))
    nearest = torch.cdist(output.flatten(0, 1), network.centroids(1)).min(1).values
    torch.testing.assert_close(nearest, torch.zeros(12), atol=1e-5, rtol=0)
    assert not output.requires_grad


def test_without_centroids(network: SRGRU) -> None:
    with inference(network, regularized=False):
        assert network.trace(torch.randn(2, 1, 3)).states is None
    assert network.regularized


@pytest.mark.parametrize("training", [False, True])
def test_everything_is_restored_after_an_error(network: SRGRU, training: bool) -> None:
    network.train(training)

    def fail() -> None:
        with inference(network, hard=True, regularized=False):
            assert network.transition is soft_argmax
            assert not network.training
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert network.transition is gumbel
    assert network.regularized
    assert network.training is training
    assert torch.is_grad_enabled()


def test_modes_of_parts_are_restored_one_by_one() -> None:
    whole = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout().eval()).train()
    whole[1].eval()
    with inference(whole):
        assert not whole[0].training
    assert whole[0].training
    assert not whole[1].training


def test_gradients_on_request(network: SRGRU) -> None:
    with inference(network, grad=True):
        output, _ = network(torch.randn(6, 2, 3))
    assert output.requires_grad
