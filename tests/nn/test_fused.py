"""The fused path against the plain loop in double precision: outputs and every gradient."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from kleene.errors import SettingError
from kleene.nn import (
    SRGRU,
    SRLSTM,
    SRRNN,
    cosine,
    dot,
    euclidean,
    gumbel,
    gumbel_hard,
    mixture,
    soft_argmax,
)
from kleene.nn.cells import GRU, LSTM, Elman
from kleene.nn.fused import load_kernels, use_fused
from kleene.nn.fused.dispatch import dispatch
from kleene.nn.recurrence import Component, Gates, LookedUp, Projected, Recurrence, Scan
from kleene.nn.scan import scan

CELLS = [Elman(), Elman("relu"), GRU(), LSTM(), LSTM(peephole=True)]
SYMBOLS = 5


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Everything a pass depends on."""

    cell: object
    lengths: tuple[int, ...]
    hidden: int = 6
    states: int = 4
    given: str = "vectors"  # or "tokens", or "gates"
    transition: object = mixture
    similarity: object = dot
    start: bool = False  # from a state of one's own
    with_hidden: bool = False
    blend: float | None = None
    hidden_noise: float = 0.0
    seed: int = 0

    @property
    def sizes(self) -> list[int]:
        return [sum(n > t for n in self.lengths) for t in range(max(self.lengths, default=0))]

    def tensors(self) -> dict[str, Tensor]:
        torch.manual_seed(self.seed)
        rows, d, batch = self.cell.gates * self.hidden, self.hidden, len(self.lengths)
        steps = sum(self.lengths)
        shapes = {
            "weight": (rows, d),
            "bias": (rows,),
            "peephole": (self.cell.peepholes, d),
            "centroids": (self.states, d),
            "temperature": (),
            "W": (rows, 3),
            "b": (rows,),
            "x": (steps, 3),
            "table": (SYMBOLS, rows),
            "gates": (steps, rows),
            "h": (batch, d),
            "c": (batch, d),
        }
        tensors = {name: torch.randn(shape).clamp(-2, 2) * 0.4 for name, shape in shapes.items()}
        tensors["temperature"] = tensors["temperature"].exp()
        tensors["weight"] *= min(1, (8 / d) ** 0.5)  # wide ones must not be chaotic,
        tensors["peephole"] *= 0.5  # and memories must not feed themselves
        return tensors

    def run(self, leaves: dict[str, Tensor]) -> Scan:
        steps, batch, dtype = sum(self.lengths), len(self.lengths), leaves["weight"].dtype
        ids = torch.randint(SYMBOLS, (steps,), generator=torch.Generator().manual_seed(self.seed))
        inputs: Gates = leaves["gates"]
        if self.given == "vectors":
            inputs = Projected(x=leaves["x"], weight=leaves["W"], bias=leaves["b"])
        elif self.given == "tokens":
            inputs = LookedUp(ids=ids, table=leaves["table"])
        component = None
        if self.states:
            exact = dtype == torch.float64
            component = Component(
                centroids=leaves["centroids"],
                temperature=leaves["temperature"],
                similarity=self.similarity,
                transition=Quiet(self.transition) if exact else self.transition,
                noise=True,
                blend=self.blend,
            )
        recurrence = QuietRecurrence(
            cell=self.cell,
            weight=leaves["weight"],
            bias=leaves["bias"],
            peephole=leaves["peephole"] if self.cell.peepholes else None,
            component=component,
            hidden_noise=self.hidden_noise,
        )
        zeros = torch.zeros(batch, self.hidden, dtype=dtype)
        memory = (leaves["c"] if self.start else zeros) if self.cell.has_memory else None
        torch.manual_seed(self.seed)
        hidden = leaves["h"] if self.start else zeros
        return scan(recurrence, inputs, self.sizes, hidden, memory, with_hidden=self.with_hidden)


@dataclass(frozen=True)
class Quiet:
    """A transition whose noise is drawn in single precision, whatever the pass runs in."""

    inner: object

    def draw(self, steps: int, states: int, like: Tensor, stochastic: bool) -> Tensor | None:
        drawn = self.inner.draw(steps, states, like.float(), stochastic)
        return None if drawn is None else drawn.to(like.dtype)

    def __call__(self, scores: Tensor, temperature: Tensor, noise: Tensor | None) -> Tensor:
        return self.inner(scores, temperature, noise)


COMPARED = (
    "hidden", "last_hidden", "memory", "last_memory", "scores", "weights", "commitment",
)  # fmt: skip


class QuietRecurrence(Recurrence):
    """A recurrence whose noise is drawn in single precision, likewise."""

    def draw_noise(self, steps: int, like: Tensor) -> Tensor | None:
        drawn = super().draw_noise(steps, like.float())
        return None if drawn is None else drawn.to(like.dtype)


def results(problem: Problem, dtype: torch.dtype, fused: bool) -> dict[str, Tensor]:
    """Outputs, and gradients of a random combination of them."""
    leaves = {n: t.to(dtype).requires_grad_() for n, t in problem.tensors().items()}
    with use_fused(fused):
        found = problem.run(leaves)
    outputs = {name: getattr(found, name) for name in COMPARED if getattr(found, name) is not None}
    torch.manual_seed(problem.seed + 1)
    loss = sum((v * torch.randn(v.shape).to(dtype)).sum() for v in outputs.values())
    if not loss.requires_grad:
        return outputs
    grads = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    outputs |= {f"d{n}": g for n, g in zip(leaves, grads, strict=True) if g is not None}
    return {name: value.detach() for name, value in outputs.items()}


def distance(a: Tensor, b: Tensor) -> float:
    """The largest difference, relative to the largest entry (or to 1, where all are below)."""
    assert a.shape == b.shape
    if not a.numel():
        return 0.0
    return ((a.double() - b.double()).abs().max() / b.abs().max().clamp(min=1)).item()


def assert_agrees(problem: Problem) -> None:
    """As near to the truth as 1e-5, or as single precision in the plain loop is.

    How far the plain loop is off in its worst quantity tells how much the problem magnifies errors.
    """
    truth = results(problem, torch.float64, fused=False)
    plain = results(problem, torch.float32, fused=False)
    fused = results(problem, torch.float32, fused=True)
    off = max((distance(plain[name], true) for name, true in truth.items()), default=0.0)
    for name, true in truth.items():
        if name not in fused:  # no gradient reaches it
            assert not true.abs().max() > 0, name
            continue
        assert distance(fused[name], true) <= max(1e-5, 8 * off), (name, problem)


lengths = st.one_of(
    st.lists(st.integers(0, 50), min_size=1, max_size=9),
    st.tuples(st.integers(0, 50), st.integers(1, 9)).map(lambda tb: [tb[0]] * tb[1]),
).map(lambda words: tuple(sorted(words, reverse=True)))


@settings(
    max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    problem=st.builds(
        Problem,
        cell=st.sampled_from(CELLS),
        lengths=lengths,
        hidden=st.integers(2, 40),
        states=st.one_of(st.just(0), st.integers(1, 60)),
        given=st.sampled_from(["vectors", "tokens", "gates"]),
        transition=st.sampled_from([mixture, gumbel]),
        similarity=st.sampled_from([dot, euclidean, cosine]),
        start=st.booleans(),
        with_hidden=st.booleans(),
        blend=st.sampled_from([None, 0.0, 0.3, 1.0]),
        hidden_noise=st.sampled_from([0.0, 0.4]),
        seed=st.integers(0, 1000),
    )
)
def test_equal_to_the_plain_loop_on_any_shape(problem: Problem) -> None:
    assert_agrees(problem)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
@pytest.mark.parametrize("transition", [soft_argmax, gumbel_hard], ids=lambda t: t.name)
@pytest.mark.parametrize("similarity", [euclidean, cosine], ids=lambda s: s.name)
def test_hard_transitions_take_the_same_path(cell, transition, similarity) -> None:
    problem = Problem(
        cell=cell,
        lengths=(12, 9, 9, 3, 0),
        states=5,
        transition=transition,
        similarity=similarity,
    )
    assert_agrees(problem)
    assert_agrees(replace(problem, blend=0.3))


def dispatched(problem: Problem) -> bool:
    """Whether the fused path takes the problem."""
    taken = []

    def spy(*args: object) -> object:
        taken.append(result := dispatch(*args))
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kleene.nn.scan.dispatch", spy)
        problem.run(problem.tensors())
    return taken != [None]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
@pytest.mark.parametrize("states", [0, 4])
def test_these_tests_test_the_fused_path(cell, states) -> None:
    problem = Problem(cell=cell, lengths=(3, 2), states=states)
    assert dispatched(problem)
    assert dispatched(replace(problem, blend=0.5, hidden_noise=0.4))
    with use_fused(False):
        assert not dispatched(problem)


RAGGED = {"given": "tokens", "lengths": (30, 21, 9, 9, 2, 0), "start": True}
MANY = {"lengths": (60, 60, *range(59, 43, -1), 3, 0), "hidden": 20, "states": 18}
"""More rows than are gathered at once, blocks of many sequences."""


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
@pytest.mark.parametrize("settings", [RAGGED, {**RAGGED, "given": "gates"}, MANY], ids=str)
def test_threads_change_nothing(cell, settings, threads, monkeypatch) -> None:
    monkeypatch.setattr("kleene.nn.fused.passes.MIN_WORK", 1)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    problem = Problem(cell=cell, with_hidden=True, **settings)
    try:
        assert_agrees(problem)
        assert_agrees(replace(problem, blend=0.3, hidden_noise=0.4, transition=gumbel))
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("states", [4, 20])
@pytest.mark.parametrize("temperature", [1e-16, 1e-17, 1e-30, 1e-6, 1e6])
def test_extreme_temperatures(states, temperature) -> None:
    torch.manual_seed(0)
    network = SRGRU(3, 5, num_states=states, temperature=temperature)
    x = torch.randn(6, 4, 3)
    with use_fused(False):
        true = network(x)[0]
    torch.testing.assert_close(network(x)[0], true, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("build", [SRRNN, SRGRU, SRLSTM])
def test_outputs_may_be_written_to(build) -> None:
    network, x = build(3, 5, num_states=4), torch.randn(6, 2, 3)
    network(x)[0].mul_(2).sum().backward()
    found = [p.grad for p in network.parameters() if p.grad is not None]
    network.zero_grad()
    (2 * network(x)[0]).sum().backward()
    for a, b in zip(
        found, [p.grad for p in network.parameters() if p.grad is not None], strict=True
    ):
        torch.testing.assert_close(a, b)


def test_another_default_type_changes_nothing() -> None:
    network, x = SRGRU(3, 5, num_states=4), torch.randn(6, 2, 3)
    true = network(x)[0]
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.equal(network(x)[0], true)
    finally:
        torch.set_default_dtype(torch.float32)


def gradients(network: torch.nn.Module, x: Tensor) -> list[Tensor]:
    weights = [w for w in network.parameters() if w.requires_grad]
    return list(torch.autograd.grad(network(x)[0].square().sum(), weights))


def test_gradients_of_gradients_name_their_cure() -> None:
    network, x = SRGRU(3, 5, num_states=4), torch.randn(4, 2, 3, requires_grad=True)
    with pytest.raises(SettingError, match="use_fused"):
        torch.autograd.grad(network(x)[0].sum(), x, create_graph=True)
    with use_fused(False):
        (slope,) = torch.autograd.grad(network(x)[0].square().sum(), x, create_graph=True)
    slope.square().sum().backward()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("build", [SRRNN, SRGRU, SRLSTM])
def test_without_gradients(mode, build) -> None:
    network, x = build(3, 10, num_states=6), torch.randn(7, 4, 3)
    true, _ = network(x)
    with mode():
        found, _ = network(x)
    assert not found.requires_grad
    assert torch.equal(found, true.detach())


def test_two_threads_at_once() -> None:
    networks = [SRGRU(3, 10, num_states=6), SRLSTM(3, 12, num_states=5)]
    x = torch.randn(20, 4, 3)
    true = [gradients(network, x) for network in networks]
    barrier = threading.Barrier(2)

    def many(network: torch.nn.Module) -> list[list[Tensor]]:
        barrier.wait()
        return [gradients(network, x) for _ in range(20)]

    with ThreadPoolExecutor(2) as pool:
        for found, expected in zip(pool.map(many, networks), true, strict=True):
            for run in found:
                torch.testing.assert_close(run, expected, rtol=1e-5, atol=1e-5)


FORKED = """
import multiprocessing
import sys
import torch
import kleene.nn.fused.passes
from kleene.nn import SRGRU

def gradients(network, x):
    network.zero_grad()
    network(x)[0].square().sum().backward()
    return [p.grad.clone() for p in network.parameters() if p.grad is not None]

def child():
    torch.set_num_threads(1)  # as torch's own data workers do: its threads do not survive a fork
    for a, b in zip(gradients(network, x), true, strict=True):
        torch.testing.assert_close(a, b)

kleene.nn.fused.passes.MIN_WORK = 1
torch.set_num_threads(2)
network, x = SRGRU(3, 4, num_states=3), torch.randn(5, 4, 3)
true = gradients(network, x)  # threads exist before the fork
assert len(true) > 4
worker = multiprocessing.get_context("fork").Process(target=child, daemon=True)
worker.start()
worker.join(60)
sys.exit(worker.exitcode)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="fork")
def test_forked_worker() -> None:
    environment = os.environ | {"PYTHONPATH": ":".join(sys.path), "KLEENE_FUSED": "1"}
    done = subprocess.run(
        [sys.executable, "-c", FORKED],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_tokens_beyond_the_table_are_refused() -> None:
    recurrence = SRGRU(3, 4, num_states=3).recurrence(0)
    inputs = LookedUp(ids=torch.tensor([0, 7]), table=torch.randn(5, 12))
    with pytest.raises(IndexError):
        scan(recurrence, inputs, [1, 1], torch.zeros(1, 4))


def test_not_a_number_is_not_hidden() -> None:
    for build in (SRRNN, SRGRU, SRLSTM):
        x = torch.randn(5, 2, 3)
        x[2, 1] = float("nan")
        out, _ = build(3, 4, num_states=3)(x)
        assert out[2:, 1].isnan().all()
        assert not out[:, 0].isnan().any()


@pytest.mark.parametrize(
    ("name", "shape"),
    [("peephole_l0", (3, 1)), ("bias_hh_l0", (1,)), ("log_temperature_l0", (4,))],
)
def test_weights_of_other_shapes_take_the_plain_path(name: str, shape: tuple[int, ...]) -> None:
    """Such weights broadcast in torch; compiled code would read beyond their end."""
    network, x = SRLSTM(3, 40, num_states=4, peephole=True), torch.randn(5, 2, 3)
    weight = {name: torch.randn(shape)}
    found = torch.func.functional_call(network, weight, (x,))[0]
    with use_fused(False):
        assert torch.equal(torch.func.functional_call(network, weight, (x,))[0], found)


def test_the_switch_holds_in_its_block_and_thread_only() -> None:
    use_fused(False)  # no block, no effect
    assert load_kernels()
    with use_fused(False):
        assert not load_kernels()
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(load_kernels).result()
    assert load_kernels()


def test_function_transforms_take_the_plain_path() -> None:
    network, x = SRGRU(3, 4, num_states=3), torch.randn(2, 5, 1, 3)
    weights = dict(network.named_parameters())

    def run(one: Tensor) -> Tensor:
        return torch.func.functional_call(network, weights, (one,))[0]

    torch.testing.assert_close(torch.vmap(run)(x), torch.stack([run(one) for one in x]))


def test_import_compiles_nothing_and_the_switch_is_honoured(tmp_path) -> None:
    code = (
        "import sys, torch, kleene.nn as nn; assert 'torch._dynamo' not in sys.modules;"
        "from kleene.nn.fused.library import library as loaded;"
        "assert not loaded.cache_info().currsize;"
        "nn.SRGRU(3, 4, num_states=2)(torch.randn(2, 1, 3));"
        "print(bool(loaded.cache_info().currsize))"
    )
    for value, loaded in (("0", "False"), ("", "True")):
        environment = os.environ | {"KLEENE_FUSED": value, "PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == loaded


def test_memory_does_not_grow() -> None:
    resource = pytest.importorskip("resource")
    network, x = SRLSTM(4, 8, num_states=5, peephole=True), torch.randn(10, 16, 4)
    peaks = []
    for _ in range(4):
        for _ in range(250):
            gradients(network, x)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert peaks[-1] - peaks[0] < 2_000  # kilobytes, over the last 750 steps
