"""The trace: the same numbers as the outputs, padded, in the order of the words."""

from __future__ import annotations

import pytest
import torch
from networks import CELLS, TRANSITIONS, network, ragged
from torch.nn.utils.rnn import pad_packed_sequence

from kleene.nn.mode import PLAIN

LENGTHS = [2, 5, 1, 3]


@pytest.mark.parametrize("cell", CELLS)
def test_hidden_and_memory_are_the_outputs(cell) -> None:
    net = network(cell, 2, 3, 2, num_states=4)
    words, packed = ragged(LENGTHS, 2)
    trace = net.trace(packed)
    outputs, lengths = pad_packed_sequence(net(packed)[0], batch_first=True)
    torch.testing.assert_close(trace.hidden, outputs)
    assert trace.lengths.tolist() == lengths.tolist() == LENGTHS
    assert trace.mask.sum(1).tolist() == LENGTHS
    for i, word in enumerate(words):
        alone = net.trace(word)
        torch.testing.assert_close(alone.hidden[0], trace.hidden[i, : len(word)])
        torch.testing.assert_close(alone.probs[0], trace.probs[i, : len(word)])
        assert torch.equal(alone.global_states[0], trace.global_states[i, : len(word)])
        if not net.cell.has_memory:
            assert trace.memory is None
            continue
        for t in range(1, len(word) + 1):  # the memory after every prefix
            _, (_, c) = net(word[:t])
            torch.testing.assert_close(trace.memory[i, t - 1], c[-1])


def test_padding_is_zero_and_no_state() -> None:
    trace = network("lstm", 2, 3, num_states=4).trace(ragged(LENGTHS, 2)[1])
    assert (trace.states[~trace.mask] == -1).all()
    assert (trace.states[trace.mask] >= 0).all()
    for values in (trace.hidden, trace.memory, trace.probs):
        assert not values[~trace.mask].any()
        assert values[trace.mask].any(-1).all()


@pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda t: t.name)
def test_states_are_those_whose_centroids_weigh_most(transition) -> None:
    net = network("gru", 2, 3, num_states=4, transition=transition, temperature=0.3)
    trace = net.trace(ragged(LENGTHS, 2)[1])
    probs, states = trace.probs[trace.mask], trace.states[trace.mask]
    torch.testing.assert_close(probs.sum(-1), torch.ones(len(probs)).double())
    hidden, S = trace.hidden[trace.mask], net.centroids()
    if transition.name in ("soft-argmax", "gumbel-hard", "sample"):
        torch.testing.assert_close(hidden, S[states])
    if transition.name in ("soft-argmax", "mixture"):
        assert torch.equal(states, probs.argmax(-1))
    if transition.name == "mixture":
        torch.testing.assert_close(hidden, probs @ S)


def test_layers_come_from_below() -> None:
    net = network("gru", 2, 3, 3, num_states=4)
    trace = net.trace(ragged(LENGTHS, 2)[1])
    assert len(trace.layers) == 3
    assert trace.layers[-1] is trace
    assert trace.global_states.shape == (4, 5, 3)
    for i, layer in enumerate(trace.layers):
        assert torch.equal(trace.global_states[..., i], layer.states)
        mask = layer.mask
        torch.testing.assert_close(layer.hidden[mask], layer.probs[mask] @ net.centroids(i))


def test_without_the_component_there_are_no_states() -> None:
    net = network("gru", 2, 3, num_states=4)
    trace = net.trace(ragged(LENGTHS, 2)[1], mode=PLAIN)
    assert trace.probs is None
    assert trace.states is None
    torch.testing.assert_close(trace.hidden[1], net(ragged(LENGTHS, 2)[0][1], mode=PLAIN)[0])


def test_no_steps() -> None:
    trace = network("lstm", 2, 3, num_states=4).trace(torch.zeros(0, 5, 2).double())
    assert trace.hidden.shape == trace.memory.shape == (5, 0, 3)
    assert trace.probs.shape == (5, 0, 4)
    assert trace.lengths.tolist() == [0] * 5


def test_a_trace_outlives_changes_of_the_weights() -> None:
    net = network("gru", 2, 3, num_states=4)
    with torch.no_grad():
        trace = net.trace(ragged(LENGTHS, 2)[1])
        expected = net.trace(ragged(LENGTHS, 2)[1])
        before = [expected.hidden, expected.probs, expected.states]
        for weight in net.parameters():
            weight.zero_()
    for found, value in zip([trace.hidden, trace.probs, trace.states], before, strict=True):
        assert torch.equal(found, value)
        assert not found.requires_grad
