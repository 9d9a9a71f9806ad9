"""Places that passes leave to the next: used again, never while somebody holds them."""

from __future__ import annotations

import gc

import pytest
import torch

from kleene.nn import SRGRU, SRLSTM
from kleene.nn.fused import buffers as memory
from kleene.nn.fused.buffers import kept, lend


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch) -> None:
    """None at first, and everything is large."""
    monkeypatch.setattr(memory, "_free", {})
    monkeypatch.setattr(memory, "LARGE", 1)


def test_a_place_is_used_again_once_it_is_free() -> None:
    held = lend(3, 4)
    place = held.data_ptr()
    other = lend(3, 4)
    assert other.data_ptr() != place
    part = held[1:]
    del held
    assert kept() == 0  # a view is left
    del part
    assert kept() == 12
    again = lend(4, 2)
    assert again.data_ptr() == place
    assert again.shape == (4, 2)
    assert kept() == 0


def test_a_place_of_another_size_is_left_alone() -> None:
    lend(10)
    assert kept() == 10
    assert lend(11).shape == (11,)
    assert lend(4).shape == (4,)  # less than half of it would lie idle otherwise
    assert kept() >= 10


def test_no_more_is_kept_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST", 25)
    held = [lend(10) for _ in range(5)]
    assert len(held) == 5
    held.clear()
    assert kept() == 20


def test_what_is_larger_than_allowed_leaves_the_others_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "MOST", 25)
    lend(10)
    lend(30)
    assert kept() == 10


@pytest.mark.parametrize("build", [SRGRU, SRLSTM])
def test_a_graph_that_is_kept_is_not_written_over(build) -> None:
    torch.manual_seed(0)
    network = build(3, 5, num_states=4)
    x = torch.randn(7, 2, 3)
    loss = network(x)[0].square().sum()
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    first = torch.autograd.grad(loss, weights, retain_graph=True)
    network(torch.randn(7, 2, 3))[0].sum().backward()  # would take the place if it could
    gc.collect()
    for a, b in zip(first, torch.autograd.grad(loss, weights), strict=True):
        assert torch.equal(a, b)


def test_training_keeps_what_one_step_needs() -> None:
    network, x = SRLSTM(3, 5, num_states=4, peephole=True), torch.randn(7, 2, 3)
    sizes = []
    for _ in range(5):
        network(x)[0].sum().backward()
        sizes.append(kept())
    assert sizes[0] > 0
    assert len(set(sizes[1:])) == 1
