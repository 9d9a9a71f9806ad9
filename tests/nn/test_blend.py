"""The blend of a cell and its mixtures: its two ends, and the equation between them."""

from __future__ import annotations

import pytest
import torch
from networks import CELLS, SIMILARITIES, network, ragged
from textbook import textbook
from torch.nn.utils.rnn import pack_sequence

from kleene.nn.mode import OWN, PLAIN, Mode
from kleene.nn.similarity import scores


def passes(net, x, mode):
    """Outputs, last states and gradients."""
    net.zero_grad()
    output, last = net(x, mode=mode)
    states = [last] if isinstance(last, torch.Tensor) else [*last]
    sum((value.sin() * 3).sum() for value in [output.data, *states]).backward()
    return output.data, *states, *[w.grad for w in net.parameters() if w.grad is not None]


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("blend", "end"), [(0.0, PLAIN), (1.0, OWN)])
def test_ends(cell, similarity, blend, end) -> None:
    net = network(cell, 3, 5, num_layers=2, num_states=4, similarity=similarity)
    x = pack_sequence([torch.randn(n, 3).double() for n in (2, 6, 4)], enforce_sorted=False)
    here, there = passes(net, x, Mode(blend=blend)), passes(net, x, end)
    used = [g for g in here if g.abs().max() > 0]  # without the component, centroids have no part
    for a, b in zip(used, [g for g in there if g.abs().max() > 0], strict=True):
        torch.testing.assert_close(a, b, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("cell", CELLS)
def test_one_step(cell) -> None:
    net = network(cell, 3, 5, num_states=4)
    x, h = torch.randn(1, 2, 3).double(), torch.randn(1, 2, 5).double()
    hx = (h, torch.randn_like(h)) if net.cell.has_memory else h
    scan = net.trace(x, hx, mode=Mode(blend=0.3)).scan
    u = net.trace(x, hx, mode=PLAIN).scan.hidden
    S = net.centroids()
    mixed = torch.softmax(scores(net.similarity, S, u) / net.temperature, -1) @ S
    torch.testing.assert_close(scan.hidden, 0.7 * u + 0.3 * mixed)
    torch.testing.assert_close(scan.commitment, (u - mixed).square().sum(-1).mean())


@pytest.mark.parametrize("cell", CELLS)
def test_all_steps_and_gradients_are_the_textbooks(cell) -> None:
    net = network(cell, 2, 3, num_states=4, temperature=0.7)
    words, packed = ragged([2, 4, 3], 2)
    trace = net.trace(packed, mode=Mode(blend=0.3))
    true = [textbook(net, word, blend=0.3)[0].hidden for word in words]
    for i, expected in enumerate(true):
        torch.testing.assert_close(trace.hidden[i, : len(expected)], expected)
    weights = [w for w in net.parameters() if w.requires_grad]
    found = torch.autograd.grad(trace.hidden.sin().sum(), weights)
    expected = torch.autograd.grad(sum(one.sin().sum() for one in true), weights)
    torch.testing.assert_close(found, expected)


def test_padding_has_no_commitment() -> None:
    net, mode = network("gru", 3, 5, num_states=4), Mode(blend=0.5)
    words = [torch.randn(n, 3).double() for n in (1, 7)]
    both = net.trace(pack_sequence(words, enforce_sorted=False), mode=mode).scan.commitment
    one, seven = (net.trace(word, mode=mode).scan.commitment for word in words)
    torch.testing.assert_close(both, (one + 7 * seven) / 8)
    assert net.trace(words[0]).scan.commitment is None
