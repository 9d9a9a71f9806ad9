"""The bounds of prover and verifier against points sampled in wide boxes, and their widths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from random_models import random_model

from kleene.model import Model
from kleene.proof import verify_core as core
from kleene.proof.bounds import Bounds
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


def opened(kind: dict, seed: int) -> tuple[Model, core.Network]:
    model = random_model(seed, temperature=0.5, scale=2.0, **kind)
    return model, load_model(model.to_files()).network


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
        model, net = opened(kind, seed)
        lo, hi, alphas = sampled(net, seed, width)
        bounds = Bounds.of(model)
        hidden = core.hidden_ranges(net, lo, hi)
        own = bounds.hidden(lo[None], hi[None])
        for token in (core.FIRST, core.FIRST + 1):
            after, scores = Exact(net).step(token, alphas)
            rows = slice(token, token + 1)
            x = bounds.x_gates[0][rows], bounds.x_gates[1][rows]
            for lead in range(0, len(scores[0]), 2):
                leads = np.full(len(net.layers), lead)
                (low, high), margin = core.step(net, np.array([token]), hidden, leads)
                temperatures = [layer.temperature for layer in net.layers]
                u = bounds.apply(x, own[0])
                own_low, own_high, margins = advance(bounds, u, own[1:], leads, temperatures)
                for i, points in enumerate(after):
                    for least, most in ((low[i], high[i]), (own_low[i], own_high[i])):
                        assert (least <= points.min(0)).all()
                        assert (points.max(0) <= most).all()
                gaps = scores - scores[:, [lead]]
                beaten = np.delete(gaps, lead, 1).max()
                assert margin <= -beaten
                assert margins.min() <= -beaten
        found = Exact(net).classes(alphas)
        for winner in range(2):
            least = (found[:, winner] - found[:, 1 - winner]).min()
            assert core.output_margin(net, hidden, winner) <= least
            assert -bounds.classes(lo[None], hi[None], winner)[0] <= least


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
def test_prover_and_verifier_find_the_same_bounds_by_other_formulas(kind):
    """Neither is loose: each is as narrow as the other."""
    model, net = opened(kind, 1)
    lo, hi, alphas = sampled(net, 1, 0.1)
    bounds = Bounds.of(model)
    after, _ = Exact(net).step(core.FIRST, alphas)
    leads = np.array([points.mean(0).argmax() for points in after])
    hidden, own = core.hidden_ranges(net, lo, hi), bounds.hidden(lo[None], hi[None])
    (low, high), margin = core.step(net, np.array([core.FIRST]), hidden, leads)
    rows = slice(core.FIRST, core.FIRST + 1)
    u = bounds.apply((bounds.x_gates[0][rows], bounds.x_gates[1][rows]), own[0])
    temperatures = [layer.temperature for layer in net.layers]
    own_low, own_high, margins = advance(bounds, u, own[1:], leads, temperatures)
    np.testing.assert_allclose(own_low, low, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(own_high, high, rtol=1e-6, atol=1e-12)
    assert margins[0] == pytest.approx(margin, rel=1e-6, abs=1e-9)
    for winner in range(2):
        least = core.output_margin(net, hidden, winner)
        assert -bounds.classes(lo[None], hi[None], winner)[0] == pytest.approx(least, rel=1e-6)


# -- widths: what float32 may lose at a single point ---------------------------------------------


def both(kind: dict) -> tuple[core.Network, Bounds]:
    model, net = opened(kind, 0)
    return net, Bounds.of(model)


def one_hot(net: core.Network) -> np.ndarray:
    return np.eye(len(net.layers[0].S))[[0]]


ELMAN = {"cell": "rnn", "similarity": "dot", "num_layers": 1, "transition": "mixture"}


def test_sums_are_widened_by_a_rounding_for_each_term():
    net, bounds = both(ELMAN)
    layer = net.layers[0]
    terms = layer.W.shape[1] + layer.S.shape[1] + 2 * len(layer.S) + 128
    assert min(net.g, bounds.slack) >= terms * 2.0**-24
    size = abs(net.E) @ abs(layer.W).T + abs(layer.b)
    low, high = core.token_gates(net, np.arange(len(net.E)))
    for least, most in ((low, high), bounds.x_gates):
        assert (most - least >= 2 * terms * 2.0**-24 * size).all()
    point = one_hot(net)
    size = np.append(abs(layer.S) @ abs(layer.R).T + abs(layer.c), abs(layer.S), 1).max(0)
    for least, most in (
        core.hidden_ranges(net, point, point)[0],
        bounds.hidden(*[point[None]] * 2)[0],
    ):
        assert (most - least >= 2 * terms * 2.0**-24 * size * (1 - 1e-6)).all()


def test_functions_are_widened_by_their_error():
    for cell in ("rnn", "gru"):
        net, bounds = both({**ELMAN, "cell": cell})
        n, gates = net.layers[0].S.shape[1], len(net.layers[0].b)
        x = np.zeros((1, gates)), np.zeros((1, gates))
        h = np.zeros(gates + n), np.zeros(gates + n)
        for low, high in (core.apply(net, x, h), bounds.apply(x, (h[0][None], h[1][None]))):
            floor = 2.0**-19 if cell == "rnn" else 2.0**-20  # (1 - z) n with z = 1/2
            assert (high >= floor * 0.99).all()
            assert (low <= -floor * 0.99).all()


def test_probabilities_are_widened_by_the_roundings_of_a_softmax():
    net, bounds = both(ELMAN)
    k, hidden = net.layers[0].S.shape
    u = np.zeros((1, hidden)), np.zeros((1, hidden))
    gaps = np.zeros((1, k))
    found, _ = core.mixtures(net, net.layers[0], u, 0)
    for low, high in (found, bounds.probabilities((gaps.copy(), gaps.copy()), 0, 1.0)):
        assert (high * k - 1 >= 0.999 * (k + 64) * 2.0**-24).all()
        assert (1 - low * k >= 0.999 * (k + 64) * 2.0**-24).all()


def test_probabilities_that_underflow_may_be_lost_or_cut():
    net, bounds = both(ELMAN)
    k = len(net.layers[0].S)
    gaps = np.full((1, k), -1e4)
    gaps[0, 0] = 0
    _, high = bounds.probabilities((gaps.copy(), gaps.copy()), 0, 1.0)
    assert (high >= 1e-37).all()
    u = 1e4 * (net.layers[0].S[:1] * 2)
    (_, high), _ = core.mixtures(net, net.layers[0], (u, u), 0)
    assert (high >= 1e-37).all()
    assert (high[0, 1:] < 1e-30).any()


def test_products_that_underflow_are_covered():
    net, bounds = both(ELMAN)
    layer = bounds.layers[0]
    for array in (net.E, net.layers[0].W, net.layers[0].b, layer.W, layer.b_input):
        array[...] = 0
    low, high = core.token_gates(net, np.array([core.FIRST]))
    assert (high - low >= net.layers[0].W.shape[1] * 2.0**-126).all()
    low, high = layer.input((net.E, net.E))
    assert (high - low >= layer.W.shape[1] * 2.0**-126).all()


def test_hard_mode_asks_for_more_than_the_rounding_of_probabilities():
    net, bounds = both({**ELMAN, "transition": "soft-argmax"})
    k = len(net.layers[0].S)
    for gap, alone in ((0.0, False), (-1e-6, False), (-1e-3, True), (np.nan, False)):
        gaps = np.full((1, k), -1.0)
        gaps[0, :2] = 0, gap
        low, high = bounds.probabilities((gaps.copy(), gaps.copy()), 0, 1.0)
        assert bool(high[0, 1] == 0) is alone
        assert bool(low[0, 0] == 1) is alone
        if np.isfinite(gap):
            layer = core.Layer(**{**vars(net.layers[0]), "S": gaps.T, "temperature": 1e5})
            u = np.array([[1e5]])  # scores are gaps * 1e5: their own rounding is not what decides
            (low, high), _ = core.mixtures(net, layer, (u, u), 0)
            assert bool(high[0, 1] == 0) is alone
            assert bool(low[0, 0] == 1) is alone


@pytest.mark.parametrize("value", [2.0**51, 1e30, np.inf, np.nan])
def test_what_may_overflow_is_refused(value):
    net, bounds = both(ELMAN)
    sizes = np.array([1.0, value])
    with pytest.raises(core.NotProvedError, match="overflow"):
        core.widen(net, (sizes, sizes), sizes)
    E = np.full_like(bounds.embedding, 1e6 * value)
    with np.errstate(all="ignore"):
        low, high = bounds.layers[0].input((E, E))
    assert np.isnan(low).all()
    assert np.isnan(high).all()
