"""The bounds of prover and verifier against points sampled in wide boxes, and their widths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from random_models import random_model

from kleene.proof import verify_core as core
from kleene.proof.bounds import Bounds
from kleene.proof.certify import certify
from kleene.proof.invariant import advance
from kleene.proof.verify_files import load_model

KINDS = [
    {"cell": cell, "similarity": similarity, "num_layers": layers, "transition": transition}
    for cell in ("rnn", "rnn-relu", "gru")
    for similarity in ("dot", "euclidean", "cosine")
    for layers, transition in ((1, "mixture"), (2, "mixture"), (1, "soft-argmax"))
]
POINTS = 300


@dataclass
class Exact:
    """The network by its equations, in float64."""

    net: core.Network

    def cell(self, x: np.ndarray, a: np.ndarray, h: np.ndarray) -> np.ndarray:
        if self.net.cell == "rnn":
            return np.tanh(x + a)
        if self.net.cell == "rnn-relu":
            return np.maximum(x + a, 0)
        (x_r, x_z, x_n), (a_r, a_z, a_n) = np.split(x, 3, -1), np.split(a, 3, -1)
        r, z = 1 / (1 + np.exp(-x_r - a_r)), 1 / (1 + np.exp(-x_z - a_z))
        return (1 - z) * np.tanh(x_n + r * a_n) + z * h

    def scores(self, layer: core.Layer, u: np.ndarray) -> np.ndarray:
        S = layer.S
        if self.net.similarity == "cosine":
            S = S / np.linalg.norm(S, axis=1, keepdims=True)
            u = u / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-12)
        return u @ S.T - ((S**2).sum(1) / 2 if self.net.similarity == "euclidean" else 0)

    def step(self, token: int, alphas: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
        """The next mixtures of every layer, and the top's scores over the temperature."""
        found, x = [], self.net.E[token]
        for layer, alpha in zip(self.net.layers, alphas, strict=True):
            h = alpha @ layer.S
            u = self.cell(x @ layer.W.T + layer.b, h @ layer.R.T + layer.c, h)
            scores = self.scores(layer, u)
            e = np.exp((scores - scores.max(1, keepdims=True)) / layer.temperature)
            probs = e / e.sum(1, keepdims=True)
            found.append(np.eye(len(layer.S))[probs.argmax(1)] if self.net.hard else probs)
            x = found[-1] @ layer.S
        return found, scores

    def classes(self, alphas: list[np.ndarray]) -> np.ndarray:
        x = self.net.E[core.END]
        for layer, alpha in zip(self.net.layers, alphas, strict=True):
            h = alpha @ layer.S
            x = self.cell(x @ layer.W.T + layer.b, h @ layer.R.T + layer.c, h)
        return x @ self.net.H.T + self.net.d


def opened(kind: dict, seed: int = 0) -> core.Network:
    model = random_model(seed, temperature=0.5, scale=2.0, **kind)
    return load_model(model.to_files()).network


def sampled(net: core.Network, seed: int, width: float) -> tuple[np.ndarray, np.ndarray, list]:
    """A random box of every layer, and points in it: the hull of the points is the box."""
    random = np.random.default_rng(seed)
    k = len(net.layers[0].S)
    middle = random.dirichlet(np.ones(k), len(net.layers))
    corners = random.dirichlet(np.full(k, 0.3), (len(net.layers), POINTS))
    alphas = (1 - width) * middle[:, None] + width * corners
    return alphas.min(1), alphas.max(1), list(alphas)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
@pytest.mark.parametrize("width", [0.02, 0.3, 1.0])
def test_points_of_a_box_step_into_the_bounds(kind, width):
    for seed in range(3):
        net = opened(kind, seed)
        lo, hi, alphas = sampled(net, seed, width)
        hidden = core.hidden_ranges(net, lo, hi)
        for token in (core.FIRST, core.FIRST + 1):
            after, scores = Exact(net).step(token, alphas)
            for lead in range(0, len(scores[0]), 2):
                leads = np.full(len(net.layers), lead)
                (low, high), margin = core.step(net, np.array([token]), hidden, leads)
                for points, least, most in zip(after, low, high, strict=True):
                    assert (least <= points.min(0)).all()
                    assert (points.max(0) <= most).all()
                gaps = scores - scores[:, [lead]]
                assert margin <= -np.delete(gaps, lead, 1).max()
        found = Exact(net).classes(alphas)
        for winner in range(2):
            least = (found[:, winner] - found[:, 1 - winner]).min()
            assert core.output_margin(net, hidden, winner) <= least


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
def test_prover_and_verifier_find_the_same_bounds_by_other_formulas(kind):
    """Neither is loose: each is as narrow as the other."""
    net = opened(kind, 1)
    lo, hi, alphas = sampled(net, 1, 0.1)
    bounds = Bounds(net)
    after, _ = Exact(net).step(core.FIRST, alphas)
    leads = np.array([points.mean(0).argmax() for points in after])
    hidden, own = core.hidden_ranges(net, lo, hi), bounds.hidden(lo[None], hi[None])
    (low, high), margin = core.step(net, np.array([core.FIRST]), hidden, leads)
    u = bounds.apply(bounds.token(core.FIRST), own[0])
    temperatures = [layer.temperature for layer in net.layers]
    (own_low, own_high), margins = advance(bounds, u, own[1:], leads, temperatures)
    np.testing.assert_allclose(own_low, low, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(own_high, high, rtol=1e-6, atol=1e-12)
    assert margins[0] == pytest.approx(margin, rel=1e-6, abs=1e-9)
    for winner in range(2):
        least = core.output_margin(net, hidden, winner)
        assert -bounds.classes(lo[None], hi[None], winner)[0] == pytest.approx(least, rel=1e-6)


# -- widths: what float32 may lose at a single point ---------------------------------------------


def one_hot(net: core.Network) -> np.ndarray:
    return np.eye(len(net.layers[0].S))[[0]]


ELMAN = {"cell": "rnn", "similarity": "dot", "num_layers": 1, "transition": "mixture"}


def test_sums_are_widened_by_a_rounding_for_each_term():
    net = opened(ELMAN)
    layer = net.layers[0]
    terms = layer.W.shape[1] + layer.S.shape[1] + 2 * len(layer.S) + 128
    assert net.g >= terms * 2.0**-24
    size = abs(net.E) @ abs(layer.W).T + abs(layer.b)
    least, most = core.token_gates(net, np.arange(len(net.E)))
    assert (most - least >= 2 * terms * 2.0**-24 * size).all()
    point = one_hot(net)
    size = np.append(abs(layer.S) @ abs(layer.R).T + abs(layer.c), abs(layer.S), 1).max(0)
    least, most = core.hidden_ranges(net, point, point)[0]
    assert (most - least >= 2 * terms * 2.0**-24 * size * (1 - 1e-6)).all()


def test_longer_sums_than_the_bounds_hold_for_are_refused(monkeypatch):
    monkeypatch.setattr(core, "TERMS", 100)
    assert "the bounds hold up to 100" in str(certify(random_model(0, **ELMAN)))


@pytest.mark.parametrize(("cell", "floor"), [("rnn", 2.0**-19), ("gru", 2.0**-20)])
def test_functions_are_widened_by_their_error(cell, floor):
    net = opened({**ELMAN, "cell": cell})
    n, gates = net.layers[0].S.shape[1], len(net.layers[0].b)
    x, h = np.zeros((1, gates)), np.zeros(gates + n)
    low, high = core.apply(net, (x, x), (h, h))
    assert (high >= floor * 0.99).all()  # of (1 - z) n with z = 1/2, half
    assert (low <= -floor * 0.99).all()


def test_probabilities_are_widened_by_the_roundings_of_a_softmax():
    net = opened(ELMAN)
    k, hidden = net.layers[0].S.shape
    u = np.zeros((1, hidden))
    (low, high), _ = core.mixtures(net, net.layers[0], (u, u), 0)
    assert (high * k - 1 >= 0.999 * (k + 64) * 2.0**-24).all()
    assert (1 - low * k >= 0.999 * (k + 64) * 2.0**-24).all()


def test_probabilities_that_underflow_may_be_lost_or_cut():
    net = opened(ELMAN)
    u = 1e4 * (net.layers[0].S[:1] * 2)
    (_, high), _ = core.mixtures(net, net.layers[0], (u, u), 0)
    assert (high >= 1e-37).all()
    assert (high[0, 1:] < 1e-30).any()


def test_products_that_underflow_are_covered():
    net = opened(ELMAN)
    for array in (net.E, net.layers[0].W, net.layers[0].b):
        array[...] = 0
    low, high = core.token_gates(net, np.array([core.FIRST]))
    assert (high - low >= net.layers[0].W.shape[1] * 2.0**-126).all()


@pytest.mark.parametrize(("gap", "alone"), [(0.0, False), (-1e-6, False), (-1e-3, True)])
def test_hard_mode_asks_for_more_than_the_rounding_of_probabilities(gap, alone):
    net = opened({**ELMAN, "transition": "soft-argmax"})
    gaps = np.full((1, len(net.layers[0].S)), -1.0)
    gaps[0, :2] = 0, gap
    layer = core.Layer(**{**vars(net.layers[0]), "S": gaps.T, "temperature": 1e5})
    u = np.array([[1e5]])  # scores are gaps * 1e5: their own rounding is not what decides
    (low, high), _ = core.mixtures(net, layer, (u, u), 0)
    assert bool(high[0, 1] == 0) is alone
    assert bool(low[0, 0] == 1) is alone


@pytest.mark.parametrize("value", [2.0**51, 1e30, np.inf, np.nan])
def test_what_may_overflow_is_refused(value):
    sizes = np.array([1.0, value])
    with pytest.raises(core.NotProvedError, match="overflow"):
        core.widen(opened(ELMAN), (sizes, sizes), sizes)
