"""Interval bounds of one step of a memory-less network, for the prover.

A region is a box of mixtures per layer, lo <= alpha <= hi with alpha summing to 1. All
pre-activations are linear in alpha, so their range over a box is exact; gates are monotone; the
gaps between scores are linear in u. Every range is widened by what float32 can err there, as
`docs/explanation/proofs.md` derives it, so that the verifier, which has formulas of its own and
also looks at overflow and underflow, finds the boxes large enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kleene.data.alphabet import END, START
from kleene.errors import ExtractionError
from kleene.model import Model
from kleene.nn.config import SIMILARITIES, TRANSITIONS
from kleene.proof.verify_core import Layer, Network
from kleene.proof.verify_files import CELLS, ModelFiles, load_model

Array: TypeAlias = NDArray[np.float64]
Interval: TypeAlias = tuple[Array, Array]

UNIT = 2.0**-24  # the rounding unit of float32
FUNCTION = 2.0**-19  # how far sigmoid and tanh may be off
TINY = 1e-37  # below this float32 may flush to zero
CHUNK = 2_000_000  # numbers in one array at a time


@dataclass(frozen=True, kw_only=True)
class Linear:
    """A linear map of mixtures: the rows that are mixed, and the rounding error of the result."""

    rows: Array  # state column
    error: Array  # column

    @cached_property
    def ordered(self) -> tuple[NDArray[np.intp], Array]:
        """The order of the states in each column, and their entries in that order."""
        order = self.rows.argsort(0)
        return order, np.take_along_axis(self.rows, order, 0)

    def range(self, lo: Array, hi: Array) -> Interval:
        """The exact range over boxes, (box, state) -> (box, column), widened.

        The least value: alpha = lo, and the mass that is left goes to the smallest entries first.
        """
        order, values = self.ordered
        left = 1 - lo.sum(1)[:, None, None]
        room, base, bounds = (hi - lo)[:, order], lo @ self.rows, []  # box state column
        for way in (slice(None), slice(None, None, -1)):
            space = room[:, way]
            taken = np.clip(left - (space.cumsum(1) - space), 0, space)
            bounds.append(base + (taken * values[way]).sum(1))
        return bounds[0] - self.error, bounds[1] + self.error


class Bounds:
    """The bounds of the steps of a network."""

    def __init__(self, network: Network) -> None:
        self.net, self.layers, self.slack = network, network.layers, network.g
        self.size = self.layers[0].S.shape[1]
        self.num_states = len(self.layers[0].S)

    @cached_property
    def recurrent(self) -> list[Linear]:
        """R h + c, and h itself, of every layer."""
        found = []
        for layer in self.layers:
            gates = self.mixture(layer.S, layer.R, layer.c)
            error = np.concatenate([gates.error, self.slack * abs(layer.S).max(0)])
            found.append(Linear(rows=np.hstack([gates.rows, layer.S]), error=error))
        return found

    @cached_property
    def between(self) -> list[Linear]:
        """W h + b of every layer but the first, h being a mixture of the centroids below."""
        pairs = zip(self.layers, self.layers[1:], strict=False)
        return [self.mixture(one.S, two.W, two.b) for one, two in pairs]

    def mixture(self, S: Array, W: Array, b: Array) -> Linear:
        """W h + b for h = alpha S, as a mixture of its values at the centroids."""
        error = self.slack * (abs(S) @ abs(W).T + abs(b)).max(0)
        return Linear(rows=S @ W.T + b, error=error)

    @cached_property
    def x_gates(self) -> Interval:
        """W x + b of every token in the first layer, (token, gates*hidden)."""
        return self.input(self.layers[0], (self.net.E, self.net.E))

    def input(self, layer: Layer, x: Interval) -> Interval:
        """W x + b over boxes of x."""
        lo, hi = linear_range(x, layer.W, layer.b)
        error = self.slack * (reach(x) @ abs(layer.W).T + abs(layer.b))
        return lo - error, hi + error

    def apply(self, x: Interval, hidden: Interval) -> Interval:
        """The cell's u from both halves of its pre-activations, (..., gates*hidden [+ hidden])."""
        n = self.size
        (x_lo, x_hi), (lo, hi) = x, hidden
        if self.net.cell != "gru":
            a_lo, a_hi = x_lo + lo[..., :-n], x_hi + hi[..., :-n]
            if self.net.cell == "rnn-relu":
                return np.maximum(a_lo, 0) * (1 - FUNCTION), np.maximum(a_hi, 0) * (1 + FUNCTION)
            return np.tanh(a_lo) - FUNCTION, np.tanh(a_hi) + FUNCTION
        gates = slice(0, 2 * n)
        rz_lo = sigmoid(x_lo[..., gates] + lo[..., gates]) - FUNCTION
        rz_hi = sigmoid(x_hi[..., gates] + hi[..., gates]) + FUNCTION
        r_lo, z_lo = np.split(np.clip(rz_lo, 0, 1), 2, -1)
        r_hi, z_hi = np.split(np.clip(rz_hi, 0, 1), 2, -1)
        q = lo[..., 2 * n : 3 * n], hi[..., 2 * n : 3 * n]
        h_lo, h_hi = lo[..., 3 * n :], hi[..., 3 * n :]
        x_n = x_lo[..., 2 * n :], x_hi[..., 2 * n :]
        error = self.slack * (reach(x_n) + reach(q))
        a_lo = x_n[0] + np.minimum(r_lo * q[0], r_hi * q[0]) - error
        a_hi = x_n[1] + np.maximum(r_lo * q[1], r_hi * q[1]) + error
        n_lo, n_hi = np.tanh(a_lo) - FUNCTION, np.tanh(a_hi) + FUNCTION
        # (1 - z) n + z h grows with n and with h, and lies between them: z at one of its ends.
        u_lo = np.minimum(n_lo + z_lo * (h_lo - n_lo), n_lo + z_hi * (h_lo - n_lo))
        u_hi = np.maximum(n_hi + z_lo * (h_hi - n_hi), n_hi + z_hi * (h_hi - n_hi))
        error = 16 * UNIT * (1 + reach((h_lo, h_hi)))
        return u_lo - error, u_hi + error

    def gaps(self, layer: int, u: Interval, winner: int) -> Interval:
        """The range of score_j - score_winner over boxes of u, (..., hidden) -> (..., state)."""
        S, similarity = self.layers[layer].S, self.net.similarity
        norms = np.linalg.norm(S, axis=1, keepdims=True) if similarity == "cosine" else 1
        keys = S / np.maximum(norms, 1e-12)
        offsets = -(S**2).sum(1) / 2 if similarity == "euclidean" else np.zeros(len(S))
        lo, hi = linear_range(u, keys - keys[winner], offsets - offsets[winner])
        most = reach(u)
        if similarity == "cosine":
            far = np.maximum(np.linalg.norm(most, axis=-1, keepdims=True), 1e-12)
            nearest = np.maximum(np.maximum(u[0], -u[1]), 0)
            near = np.maximum(np.linalg.norm(nearest, axis=-1, keepdims=True), 1e-12)
            lo, hi = np.where(lo > 0, lo / far, lo / near), np.where(hi > 0, hi / near, hi / far)
            error = np.full(len(S), 4 * self.slack)
        else:
            sizes = most @ abs(keys).T + abs(offsets)
            error = self.slack * (sizes + sizes[..., winner, None])
        lo, hi = lo - error, hi + error
        lo[..., winner] = hi[..., winner] = 0
        return lo, hi

    def probabilities(self, gaps: Interval, winner: int, temperature: float) -> Interval:
        """Boxes of alpha from the gaps: alpha_j grows with gap j and falls with all others."""
        lo, hi = gaps
        factor = (self.num_states + 64) * UNIT
        if self.net.hard:  # the argmax of float32 probabilities: a gap must survive their rounding
            can_win = ~(hi / temperature < -4 * factor)
            alone = can_win.sum(-1, keepdims=True) == 1
            return (can_win & alone).astype(np.float64), can_win.astype(np.float64)
        # Ends beyond which a probability is below TINY anyway, or as good as 1; below, a smaller
        # lower end is always safe.
        e_lo = np.exp(np.clip(lo / temperature, -600, 5))
        e_hi = np.exp(np.clip(hi / temperature, -600, 300))
        others_lo = np.maximum(e_lo.sum(-1, keepdims=True) - e_lo, 0)
        others_hi = np.maximum(e_hi.sum(-1, keepdims=True) - e_hi, 0)
        others_lo[..., winner] = np.delete(e_lo, winner, -1).sum(-1)
        others_hi[..., winner] = np.delete(e_hi, winner, -1).sum(-1)
        lower = e_lo / (e_lo + others_hi) * (1 - factor) - TINY
        upper = e_hi / (e_hi + others_lo) * (1 + factor) + TINY
        return np.maximum(lower, 0), np.minimum(upper, 1)

    def start(self) -> tuple[Interval, list[Interval]]:
        """The first layer's input on the start token, and every layer's hidden half at h = 0."""
        values = [np.hstack([layer.c, np.zeros(self.size)])[None] for layer in self.layers]
        zeros = [(v - self.slack * abs(v), v + self.slack * abs(v)) for v in values]
        return self.token(START), zeros

    def token(self, token: int) -> Interval:
        """The first layer's input on one token, (1, gates*hidden)."""
        return self.x_gates[0][[token]], self.x_gates[1][[token]]

    def hidden(self, lo: Array, hi: Array) -> list[Interval]:
        """R h + c and h of every layer over boxes, (box, layer, state) -> (box, column)."""
        ends = zip(self.recurrent, lo.swapaxes(0, 1), hi.swapaxes(0, 1), strict=True)
        return [recurrent.range(low, high) for recurrent, low, high in ends]

    def classes(self, lo: Array, hi: Array, winner: int) -> Array:
        """The most by which any other class may beat the winner at the end, (box,)."""
        hidden, net = self.hidden(lo, hi), self.net
        u = hidden[-1][0][:, -self.size :], hidden[-1][1][:, -self.size :]
        if net.end_token:
            for i, layer in enumerate(self.layers):
                u = self.apply(self.input(layer, u) if i else self.token(END), hidden[i])
        sizes = reach(u) @ abs(net.H).T + abs(net.d)
        worst = linear_range(u, net.H - net.H[winner], net.d - net.d[winner])[1]
        worst += self.slack * (sizes + sizes[:, [winner]])
        return np.asarray(np.delete(worst, winner, 1).max(1, initial=-np.inf))


def as_saved(model: Model, cells: Sequence[str] = CELLS) -> ModelFiles:
    """The model as a folder would hold it, if its network runs as it would from there."""
    rnn, config = model.network.rnn, model.network.config
    described = {
        "similarity": (rnn.similarity, SIMILARITIES[config.similarity]),
        "transition": (rnn.transition, TRANSITIONS[config.transition]),
        "cell": (rnn.cell, config.cell_object),
    }
    for name, (runs, said) in described.items():
        if runs != said:
            raise ExtractionError(
                f"network.rnn.{name} is {runs!r}, but a saved folder would run with {said!r}; a "
                "proof is about the folder: build the network with the settings it should run with"
            )
    return load_model(model.to_files(), cells)


def linear_range(u: Interval, D: Array, offset: Array) -> Interval:
    """The exact range of D u + offset over boxes of u, (..., hidden) -> (..., row)."""
    middle, radius = (u[0] + u[1]) / 2, (u[1] - u[0]) / 2
    value, off = middle @ D.T + offset, radius @ abs(D).T
    return value - off, value + off


def reach(u: Interval) -> Array:
    """The largest magnitude in each interval."""
    return np.asarray(np.maximum(abs(u[0]), abs(u[1])))


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    return 0.5 + 0.5 * np.tanh(0.5 * x)
