"""Modes of a pass, and `inference`: eval mode for a block, and the network as it was afterwards."""

from __future__ import annotations

import pytest
import torch

from kleene.errors import SettingError
from kleene.nn import SRGRU, inference
from kleene.nn.mode import Mode
from kleene.nn.transition import gumbel


@pytest.fixture
def network() -> SRGRU:
    torch.manual_seed(0)
    return SRGRU(3, 8, num_layers=2, dropout=0.5, num_states=4, transition=gumbel)


@pytest.mark.parametrize("training", [False, True])
def test_training_mode_is_restored_after_an_error(network: SRGRU, training: bool) -> None:
    network.train(training)

    def fail() -> None:
        with inference(network):
            assert not network.training
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
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


def test_noise_and_dropout_by_mode(network: SRGRU) -> None:
    x = torch.randn(6, 2, 3)

    def varies(mode: Mode) -> bool:
        return not torch.equal(network(x, mode=mode)[0], network(x, mode=mode)[0])

    for training in (False, True):
        network.train(training)
        assert varies(Mode()) is training
        assert varies(Mode(noise=True, dropout=False))
        assert varies(Mode(noise=False, dropout=True))
        assert not varies(Mode(noise=False, dropout=False))


@pytest.mark.parametrize("blend", [-0.1, 1.1, float("nan")])
def test_blend_is_a_share(blend: float) -> None:
    with pytest.raises(SettingError, match="blend must be in"):
        Mode(blend=blend)
