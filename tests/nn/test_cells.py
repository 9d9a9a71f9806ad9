"""Every cell, similarity and transition against the textbook; gradients against differences."""

from __future__ import annotations

import pytest
import torch
from networks import CELLS, SIMILARITIES, TRANSITIONS, Remembering, network, ragged
from textbook import textbook
from torch import Tensor
from torch.nn.utils.rnn import pad_packed_sequence

LENGTHS = [2, 4, 1, 3]


def same(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda t: t.name)
@pytest.mark.parametrize("similarity", SIMILARITIES, ids=lambda s: s.name)
@pytest.mark.parametrize("cell", CELLS)
def test_outputs_and_gradients_are_the_textbooks(cell, similarity, transition) -> None:
    remembering = Remembering(transition)
    net = network(
        cell,
        *(2, 3, 2),
        num_states=4,
        similarity=similarity,
        transition=remembering,
        temperature=0.7,
        learn_temperature=True,
    )
    words, packed = ragged(LENGTHS, 2)
    h0, c0 = torch.randn(2, 2, len(words), 3, dtype=torch.float64).requires_grad_()
    initial = (h0, c0) if net.cell.has_memory else h0

    output, last = net(packed, initial)
    outputs, _ = pad_packed_sequence(output, batch_first=True)
    last_hidden, last_memory = last if net.cell.has_memory else (last, None)

    starts = (packed.batch_sizes.cumsum(0) - packed.batch_sizes).tolist()
    loss = expected_loss = torch.zeros((), dtype=torch.float64)
    for i, word in enumerate(words):
        row = int(packed.unsorted_indices[i])

        def noise(layer: int, t: int, row: int = row) -> Tensor | None:
            drawn = remembering.drawn[layer]
            return None if drawn is None else drawn[starts[t] + row]

        passes = textbook(net, word, h0[:, i], c0[:, i], noise)
        same(outputs[i, : len(word)], passes[-1].hidden)
        for layer, one in enumerate(passes):
            same(last_hidden[layer, i], one.hidden[-1])
            if last_memory is not None:
                same(last_memory[layer, i], one.memory[-1])
        weights = torch.randn(passes[-1].hidden.shape, dtype=torch.float64)
        loss = loss + (weights * outputs[i, : len(word)]).sum()
        expected_loss = expected_loss + (weights * passes[-1].hidden).sum()
        if last_memory is not None:
            loss = loss + last_memory[:, i].sum()
            expected_loss = expected_loss + sum(one.memory[-1].sum() for one in passes)

    named = {**dict(net.named_parameters()), "h0": h0}
    leaves = [*named.values(), *words]
    found = torch.autograd.grad(loss, leaves, allow_unused=True)
    expected = torch.autograd.grad(expected_loss, leaves, allow_unused=True)
    for a, b, leaf in zip(found, expected, leaves, strict=True):
        zero = torch.zeros_like(leaf)
        same(zero if a is None else a, zero if b is None else b)
    assert found[list(named).index("centroids_l1")].abs().max() > 0


@pytest.mark.parametrize("similarity", SIMILARITIES, ids=lambda s: s.name)
@pytest.mark.parametrize("cell", CELLS)
def test_the_alphas_of_a_trace_are_the_textbooks(cell, similarity) -> None:
    net = network(cell, 2, 3, 2, num_states=4, similarity=similarity, temperature=0.3)
    words, packed = ragged(LENGTHS, 2)
    trace = net.trace(packed)
    for i, word in enumerate(words):
        for layer, one in zip(trace.layers, textbook(net, word), strict=True):
            same(layer.probs[i, : len(word)], one.alpha)


def test_a_learned_temperature_moves_and_a_fixed_one_does_not() -> None:
    for learn in (True, False):
        net = network("gru", 2, 3, num_states=4, learn_temperature=learn)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.randn(5, 2, 2, dtype=torch.float64))[0].square().sum().backward()
        optimizer.step()
        assert (net.temperature != 1) == learn


@pytest.mark.parametrize("cell", CELLS)
def test_the_end_token_is_a_plain_step(cell) -> None:
    net = network(cell, 2, 3, num_states=4)
    plain = network(cell, 2, 3, num_states=0)
    plain.load_state_dict(net.state_dict(), strict=False)
    h, c, x = torch.randn(3, 5, 3, dtype=torch.float64)
    x = x[:, :2]
    memory = c if net.cell.has_memory else None
    u, ended = net.end(x, [h], [memory])
    output, last = plain(x[None], (h[None], c[None]) if net.cell.has_memory else h[None])
    same(u, output[0])
    if net.cell.has_memory:
        same(ended, last[1][0])
