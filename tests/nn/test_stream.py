"""A stream says at every step what the network says about the whole sequence."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kleene.data.alphabet import START
from kleene.data.batch import make_batch
from kleene.errors import SettingError
from kleene.nn import SRGRU, SRLSTM, SRRNN, gumbel
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.nn.fused import use_fused
from kleene.nn.stream import Stream


@pytest.mark.parametrize("build", [SRRNN, SRGRU, SRLSTM])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("states", [0, 5])
@pytest.mark.parametrize("fused", [True, False])
def test_steps_equal_the_whole_pass(build, layers, states, fused) -> None:
    torch.manual_seed(0)
    network = build(3, 9, layers, num_states=states)
    x = torch.randn(7, 2, 3)
    with torch.no_grad(), use_fused(False):
        true, last = network(x)
        trace = network.trace(x)
    with use_fused(fused):
        stream = Stream(network, batch=2)
        for _ in range(2):  # a second time after a reset
            for t, now in enumerate(x):
                found = stream.step(now)
                torch.testing.assert_close(found, true[t], rtol=1e-5, atol=1e-6)
                if states:
                    assert torch.equal(stream.states, trace.states[:, t])
            if network.cell.has_memory:
                torch.testing.assert_close(
                    torch.stack(stream.memory), last[1], rtol=1e-5, atol=1e-6
                )
            stream.reset()


def test_symbols() -> None:
    network, embedding = SRGRU(3, 9, num_states=4), torch.randn(6, 3)
    tokens = torch.tensor([3, 5, 0, 0, 1])
    with torch.no_grad():
        true, _ = network(embedding[tokens])
    stream = Stream(network, embedding=embedding)
    for token, row in zip(tokens, true, strict=True):
        torch.testing.assert_close(stream.step(token[None])[0], row, rtol=1e-5, atol=1e-6)
    with pytest.raises(SettingError, match="0 to 5"):
        stream.step(torch.tensor([6]))
    with pytest.raises(SettingError, match="shape"):
        stream.step(torch.randn(1, 3))


def test_a_stream_in_training_mode_has_no_noise() -> None:
    network = SRGRU(3, 9, num_states=4, transition=gumbel).train()
    x = torch.randn(1, 3)
    assert torch.equal(Stream(network).step(x), Stream(network).step(x))


def test_needs_a_step_before_there_are_states() -> None:
    with pytest.raises(SettingError, match="step"):
        Stream(SRGRU(3, 9, num_states=4)).states


@pytest.mark.parametrize("cell", ["gru", "lstm-p"])
def test_a_stream_keeps_the_statistics_that_are_classified(cell: str) -> None:
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=9, num_classes=3, cell=cell, num_states=5, pooling="states", temperature=0.3
    )
    network, word = Classifier(config).eval(), np.array([4, 8, 5, 5, 7])
    stream = Stream(network.rnn, embedding=network.embedding.weight)
    weights = []
    for token in (START, *word):
        stream.step(torch.tensor([token]))
        weights.append(stream.weights)
    alpha = torch.stack(weights)
    with torch.no_grad():
        found = network.classify_statistics(alpha.mean(0), alpha.amax(0))
        torch.testing.assert_close(found, network(make_batch([word])), rtol=1e-5, atol=1e-6)
