"""Cached buffers: used again by later passes, never while a tensor holds them."""

from __future__ import annotations

import gc

import pytest
import torch

from kleene.nn import SRGRU, SRLSTM, empty_cache
from kleene.nn.fused import buffers as memory
from kleene.nn.fused.buffers import cached_floats, empty_cached


@pytest.fixture(autouse=True)
def no_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, which caches everything."""
    monkeypatch.setattr(memory, "_free", {})
    monkeypatch.setattr(memory, "MIN_CACHED", 1)


def test_a_buffer_is_used_again_once_it_is_free() -> None:
    held = empty_cached(3, 4)
    address = held.data_ptr()
    other = empty_cached(3, 4)
    assert other.data_ptr() != address
    part = held[1:]
    del held
    assert cached_floats() == 0  # a view is left
    del part
    assert cached_floats() == 12
    again = empty_cached(4, 2)
    assert again.data_ptr() == address
    assert again.shape == (4, 2)
    assert cached_floats() == 0


def test_a_buffer_of_another_size_is_not_used() -> None:
    empty_cached(10)
    assert cached_floats() == 10
    assert empty_cached(11).shape == (11,)
    assert empty_cached(4).shape == (4,)  # less than half of it would lie idle otherwise
    assert cached_floats() >= 10


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_CACHED", 25)
    held = [empty_cached(10) for _ in range(5)]
    assert len(held) == 5
    held.clear()
    assert cached_floats() == 20


def test_a_buffer_above_the_bound_does_not_evict_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "MAX_CACHED", 25)
    empty_cached(10)
    empty_cached(30)
    assert cached_floats() == 10


@pytest.mark.parametrize("build", [SRGRU, SRLSTM])
def test_a_retained_graph_is_not_overwritten(build) -> None:
    torch.manual_seed(0)
    network = build(3, 5, num_states=4)
    x = torch.randn(7, 2, 3)
    loss = network(x)[0].square().sum()
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    first = torch.autograd.grad(loss, weights, retain_graph=True)
    network(torch.randn(7, 2, 3))[0].sum().backward()  # uses the same buffers if it may
    gc.collect()
    for a, b in zip(first, torch.autograd.grad(loss, weights), strict=True):
        assert torch.equal(a, b)


def test_training_caches_what_one_step_needs() -> None:
    network, x = SRLSTM(3, 5, num_states=4, peephole=True), torch.randn(7, 2, 3)
    sizes = []
    for _ in range(5):
        network(x)[0].sum().backward()
        sizes.append(cached_floats())
    assert sizes[0] > 0
    assert len(set(sizes[1:])) == 1


def test_empty_cache_gives_buffers_back() -> None:
    empty_cached(10)
    held = empty_cached(20).fill_(3)
    assert cached_floats() == 10
    empty_cache()
    assert cached_floats() == 0
    assert (held == 3).all()
    del held
    assert cached_floats() == 20
