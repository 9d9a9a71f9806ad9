"""Folded weights are kept between passes, and found again only for the very same weights."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from kleene.nn import SRGRU, SRLSTM, SRRNN, cosine, empty_cache, euclidean, use_fused
from kleene.nn.fused import folded
from kleene.nn.fused.forward import fold_kernel

X = torch.randn(6, 2, 3, generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    empty_cache()


def network(build=SRGRU, seed: int = 0, **settings: object) -> torch.nn.Module:
    torch.manual_seed(seed)
    return build(3, 5, num_states=4, **settings)


def run(module: torch.nn.Module, x: Tensor = X) -> Tensor:
    with torch.no_grad(), use_fused():
        return module(x)[0]


def plain(module: torch.nn.Module, x: Tensor = X) -> Tensor:
    with torch.no_grad(), use_fused(False):
        return module(x)[0]


def assert_right(module: torch.nn.Module) -> None:
    torch.testing.assert_close(run(module), plain(module), rtol=1e-5, atol=1e-6)


def add(weight: Tensor) -> None:
    with torch.no_grad():
        weight.add_(0.25)


def through_data(weight: Tensor) -> None:
    weight.data.mul_(1.5)


def new_data(weight: Tensor) -> None:
    weight.data = weight.data + 0.25


def through_numpy(weight: Tensor) -> None:
    weight.detach().numpy()[...] += 0.25


def in_inference_mode(weight: Tensor) -> None:
    with torch.inference_mode():
        weight.copy_(torch.full_like(weight, 0.125))


def one_bit(weight: Tensor) -> None:
    weight.detach().view(torch.int32).view(-1)[-1] ^= 1 << 22


WRITES = [add, through_data, new_data, through_numpy, in_inference_mode, one_bit]


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
@pytest.mark.parametrize(
    "name", ["weight_ih_l0", "weight_hh_l0", "bias_hh_l0", "bias_ih_l0", "centroids_l0"]
)
@pytest.mark.parametrize("build", [SRRNN, SRGRU, SRLSTM])
def test_every_write_is_seen(build, name, write) -> None:
    module = network(build)
    before = run(module)
    write(module.get_parameter(name))
    assert_right(module)
    assert not torch.equal(run(module), before)


@pytest.mark.parametrize("similarity", [euclidean, cosine], ids=lambda s: s.name)
def test_keys_and_offsets_follow_the_centroids(similarity) -> None:
    module = network(similarity=similarity)
    run(module)
    through_data(module.centroids())
    assert_right(module)


def test_steps_of_an_optimizer() -> None:
    module = network()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        module(X)[0].square().sum().backward()
        optimizer.step()
        assert_right(module)


def test_loaded_copied_and_converted_networks() -> None:
    module, other = network(seed=0), network(seed=1)
    run(module)
    twin = copy.deepcopy(module)
    assert torch.equal(run(twin), run(module))
    module.load_state_dict(other.state_dict())
    assert torch.equal(run(module), run(other))
    assert not torch.equal(run(twin), run(module))
    twin.double()
    twin(X.double())
    twin.float()
    assert_right(twin)


def test_two_modules_that_share_parameters() -> None:
    module, other = network(), network(similarity=cosine)
    for name, weight in module.named_parameters():
        setattr(other, name, weight)
    for _ in range(2):
        assert_right(module)
        assert_right(other)
        add(module.weight_hh_l0)


@pytest.mark.parametrize("build", [SRRNN, SRGRU, SRLSTM])
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_packed_input_weights_of_long_sequences(build, batch: int) -> None:
    module = network(build)  # up to two sequences are projected many steps at a time
    x = torch.randn(700, batch, 3, generator=torch.Generator().manual_seed(1))
    for _ in range(2):
        torch.testing.assert_close(run(module, x), plain(module, x), rtol=1e-4, atol=1e-5)


def folds(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every later call of the compiled `fold`."""
    calls: list[object] = []
    compiled = fold_kernel.fold

    def spy(*args: object) -> None:
        calls.append(args)
        compiled(*args)

    monkeypatch.setattr(fold_kernel, "fold", spy)
    return calls


def test_the_same_weights_are_folded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module, calls = network(), folds(monkeypatch)
    for _ in range(3):
        run(module)
    run(module, X[:2])
    assert len(calls) == 1
    module(X)  # with gradients
    assert len(calls) == 2
    empty_cache()
    run(module)
    assert len(calls) == 3


def test_not_kept_from_a_start_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module, calls = network(), folds(monkeypatch)
    for value in (0.5, 0.25):
        start = torch.full((1, 2, 5), value)
        with torch.no_grad():
            found = module(X, start)[0]
            with use_fused(False):
                torch.testing.assert_close(found, module(X, start)[0])
    assert len(calls) == 2


def test_few_are_kept() -> None:
    for seed in range(3 * folded.MAX_KEPT):
        run(network(seed=seed))
    assert len(folded._kept) == folded.MAX_KEPT
    assert_right(network(seed=0))


def test_threads_that_write_and_read_networks_of_their_own() -> None:
    def many(seed: int) -> bool:
        module = network(seed=seed)
        right = True
        for _ in range(30):
            (through_data if seed % 2 else add)(module.weight_hh_l0)
            right &= torch.allclose(run(module), plain(module), rtol=1e-4, atol=1e-5)
        return right

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(many, range(12)))
