"""The conditions of a proof, checked: NumPy only, no files, no search, no code of the prover.

The formulas run on float64 arrays, or on enclosures (`outward`) where float64 is not trusted.

A proof names boxes of mixtures, lo <= alpha <= hi for the weights alpha of the centroids of each
layer, and an automaton state for each box. `check` demands that

1. the start token leads into box 0, whose state is the automaton's start;
2. from every point of a box, every symbol leads into the box that the proof names, whose state is
   the one that the automaton goes to;
3. from every point of a box, the class of the highest score is the label of the box's state.

By induction over its length, network and automaton then agree on every sequence. Every range below
holds what the float32 network computes there, rounding included. The page "What a proof says"
(docs/explanation/proofs.md) derives each bound, in the order and the letters of this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Range: TypeAlias = tuple[Array, Array]

START, END, FIRST = 2, 3, 4  # tokens; symbols begin at FIRST
U = 2.0**-24  # rounding unit of float32
F = 2.0**-19  # error of sigmoid and tanh
LOST = 1e-37  # error of a probability that underflows
NU = 2.0**-100  # added to every magnitude: U * NU is more than what underflow loses
BIG = 2.0**50  # no sum may be larger, so that nothing overflows
TERMS = 2**14  # longest sum for which n roundings err by at most 1.001 n U
CHUNK = 1_000_000  # numbers in one array at a time


class NotProvedError(Exception):
    """A condition of the proof that does not hold."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """u = cell(W x + b, R h + c), alpha = softmax(similarity(u, S) / temperature), h = alpha S."""

    W: Array  # gates*hidden input
    R: Array  # gates*hidden hidden
    b: Array  # gates*hidden
    c: Array  # gates*hidden
    S: Array  # centroid hidden
    P: Array  # 3 hidden: peepholes of an LSTM, else none
    temperature: float


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network: embedding E, layers, scores of the classes H u + d."""

    E: Array  # token input
    layers: tuple[Layer, ...]
    H: Array  # class hidden; of an LSTM, class hidden+memory
    d: Array  # class
    cell: str
    similarity: str
    hard: bool  # h is the centroid of the highest alpha
    end_token: bool  # one more cell application, without centroids, before H

    @property
    def g(self) -> float:
        """Relative error of the longest float32 sum of products."""
        k, hidden = self.layers[0].S.shape
        widest = max(self.H.shape[1] - hidden, *(layer.W.shape[1] for layer in self.layers))
        terms = widest + hidden + 2 * k + 128
        need(terms <= TERMS, f"its sums have {terms} terms, the bounds hold up to {TERMS}")
        return float(1.001 * terms * U)


@dataclass(frozen=True, kw_only=True)
class Boxes:
    """What the proof names."""

    lo: Array  # box layer centroid
    hi: Array  # box layer centroid
    leads: Ints  # box layer: the centroid that scores are compared with
    states: Ints  # box: the automaton's state
    following: Ints  # box symbol: the next box


def check(
    net: Network, boxes: Boxes, moves: Ints, start: int, classes: Ints
) -> tuple[float, float]:
    """Check the three conditions; return the least margins of the next centroid and of the class.

    `moves`, (state, symbol), `start` and `classes`, (state,), are the automaton's.
    """
    lo, hi, following = boxes.lo, boxes.hi, boxes.following
    need(bool(((lo >= 0) & (lo <= hi) & (hi <= 1)).all()), "a box is empty or too large")
    need(boxes.states[0] == start, "box 0 is not at the automaton's start")
    same = boxes.states[following] == moves[boxes.states]
    need(bool(same.all()), "the boxes do not follow the automaton's transitions")
    for layer in net.layers:
        need(1 / BIG <= layer.temperature <= BIG, f"the temperature {layer.temperature} is extreme")

    image, _ = step(net, np.array([START]), at_zero(net), boxes.leads[0])
    inside(image, (lo[0], hi[0]), "the start token misses box 0")
    margin = class_margin = np.inf
    chunk = max(1, CHUNK // (net.layers[0].S.size + net.layers[0].W.shape[0]))
    for i, after in enumerate(following):
        hidden = hidden_ranges(net, lo[i], hi[i])
        for target in np.unique(after):
            symbols = np.flatnonzero(after == target)
            for begin in range(0, len(symbols), chunk):
                tokens = FIRST + symbols[begin : begin + chunk]
                image, least = step(net, tokens, hidden, boxes.leads[target])
                box = lo[target], hi[target]
                inside(image, box, f"a step from box {i} misses box {target}")
                margin = min(margin, least)
        least = output_margin(net, hidden, int(classes[boxes.states[i]]))
        need(least > 0, f"the class in box {i} is not certain")
        class_margin = min(class_margin, least)
    return float(margin), float(class_margin)


# -- one step ------------------------------------------------------------------------------------


def step(net: Network, tokens: Ints, hidden: Sequence[Range], leads: Ints) -> tuple[Range, float]:
    """The hull over tokens of the next mixtures, (layer, centroid), and the leads' least margin."""
    x, margin, hulls = token_gates(net, tokens), np.inf, []
    for i, layer in enumerate(net.layers):
        u = apply(net, x, hidden[i])
        alpha, least = mixtures(net, layer, u, int(leads[i]))
        margin = min(margin, least)
        hulls.append((alpha[0].min(0), alpha[1].max(0)))
        if i + 1 < len(net.layers):
            above = net.layers[i + 1]
            x = mixed(net, alpha, layer.S @ above.W.T + above.b, size(layer.S, above.W, above.b))
    return (np.stack([h[0] for h in hulls]), np.stack([h[1] for h in hulls])), margin


def token_gates(net: Network, tokens: Ints) -> Range:
    """W x + b of the first layer, (token, gates*hidden)."""
    first, E = net.layers[0], net.E[tokens]
    gates = E @ first.W.T + first.b
    return widen(net, (gates, gates), size(E, first.W, first.b))


def at_zero(net: Network) -> list[Range]:
    """R h + c and h at h = 0, of every layer."""
    rows: list[Array] = [np.hstack([layer.c, np.zeros(layer.S.shape[1])]) for layer in net.layers]
    return [widen(net, (row, row), abs(row) + NU) for row in rows]


def hidden_ranges(net: Network, lo: Array, hi: Array) -> list[Range]:
    """R h + c and h over a box, (gates*hidden + hidden,), of every layer."""
    ends = [
        hidden_range(net, layer, (low[None], high[None]))
        for layer, low, high in zip(net.layers, lo, hi, strict=True)
    ]
    return [(least[0], most[0]) for least, most in ends]


def hidden_range(net: Network, layer: Layer, alpha: Range) -> Range:
    """R h + c and h over boxes of mixtures, (box, gates*hidden + hidden), of one layer."""
    rows = np.hstack([layer.S @ layer.R.T + layer.c, layer.S])
    sizes = np.hstack([size(layer.S, layer.R, layer.c), abs(layer.S) + NU])
    return mixed(net, alpha, rows, sizes)


def mixed(net: Network, alpha: Range, rows: Array, sizes: Array) -> Range:
    """The range of sum_j alpha_j rows_j over boxes of mixtures, (box, column).

    For any level v it is v + sum_j alpha_j (rows_j - v), since alpha sums to 1; so the ends of the
    box bound it for every v. The best v is one of the rows' entries.
    """
    low, high = alpha
    least = np.full((len(low), rows.shape[1]), -np.inf)
    most = -least
    for v in rows:
        above, below = np.maximum(rows - v, 0), np.maximum(v - rows, 0)
        least = np.maximum(least, v + low @ above - high @ below)
        most = np.minimum(most, v + high @ above - low @ below)
    return widen(net, (least, most), sizes.max(0))


def apply(net: Network, x: Range, hidden: Range) -> Range:
    """The range of the cell's u, (token, hidden)."""
    n = net.layers[0].S.shape[1]
    (x0, x1), (a0, a1) = x, (end[:-n] for end in hidden)
    h0, h1 = (end[-n:] for end in hidden)
    if net.cell == "rnn":
        return np.tanh(x0 + a0) - F, np.tanh(x1 + a1) + F
    if net.cell == "rnn-relu":
        return np.maximum(x0 + a0, 0) * (1 - F), np.maximum(x1 + a1, 0) * (1 + F)
    r, z, q = slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)
    r0, z0 = (np.maximum(sigmoid(x0[:, s] + a0[s]) - F, 0) for s in (r, z))
    r1, z1 = (np.minimum(sigmoid(x1[:, s] + a1[s]) + F, 1) for s in (r, z))
    a = x0[:, q] + np.minimum(r0 * a0[q], r1 * a0[q]), x1[:, q] + np.maximum(r0 * a1[q], r1 * a1[q])
    a = widen(net, a, largest((x0[:, q], x1[:, q])) + largest((a0[q], a1[q])))
    n0, n1 = np.tanh(a[0]) - F, np.tanh(a[1]) + F
    # (1 - z) n + z h grows with n and with h, and is linear in z
    u0 = np.minimum((1 - z0) * n0 + z0 * h0, (1 - z1) * n0 + z1 * h0)
    u1 = np.maximum((1 - z0) * n1 + z0 * h1, (1 - z1) * n1 + z1 * h1)
    error = 16 * U * (1 + largest((h0, h1)))
    return u0 - error, u1 + error


def mixtures(net: Network, layer: Layer, u: Range, lead: int) -> tuple[Range, float]:
    """Boxes of alpha, (token, centroid), and by how much the lead's score wins at least."""
    low, high = gaps(net, layer.S, u, lead)
    margin = -np.delete(high, lead, 1).max(initial=-np.inf)
    low, high = low / layer.temperature, high / layer.temperature
    factor = U * (len(layer.S) + 64)  # of exp, sum and quotient
    if net.hard:
        may = ~(high < -4 * factor)  # the lead is among them; nan may win
        alone = may.sum(1, keepdims=True) == 1
        return ((may & alone).astype(float), may.astype(float)), float(margin)
    # alpha_j = 1 / (1 + exp(-gap_j) sum over i != j of exp(gap_i))
    with np.errstate(over="ignore", invalid="ignore"):  # nan is inside no box
        least = 1 / (1 + np.exp(-low) * sum_of_others(np.exp(high)))
        most = 1 / (1 + np.exp(-high) * sum_of_others(np.exp(np.minimum(low, 300))))
    least, most = least * (1 - factor) - LOST, most * (1 + factor) + LOST
    return (np.maximum(least, 0), np.minimum(most, 1)), float(margin)


def gaps(net: Network, S: Array, u: Range, lead: int) -> Range:
    """The range of score_j - score_lead, (token, centroid)."""
    keys, offsets = S, np.zeros(len(S))
    if net.similarity == "euclidean":
        offsets = -0.5 * (S * S).sum(1)
    if net.similarity == "cosine":
        keys = S / np.maximum(np.sqrt((S * S).sum(1)), 1e-12)[:, None]
    low, high = linear(u, keys - keys[lead], offsets - offsets[lead])
    sizes = size(largest(u), keys, offsets)
    sizes = sizes + sizes[:, [lead]]
    if net.similarity == "cosine":  # both ends are divided by |u|
        inner = np.maximum(np.maximum(u[0], -u[1]), 0)
        short, long = (
            np.maximum(np.sqrt((end * end).sum(1)), 1e-12)[:, None] for end in (inner, largest(u))
        )
        low, high = np.minimum(low / long, low / short), np.maximum(high / long, high / short)
        sizes = np.full(low.shape, 4.0)
    low, high = widen(net, (low, high), sizes)
    low[:, lead] = high[:, lead] = 0
    return low, high


def output_margin(net: Network, hidden: Sequence[Range], winner: int) -> float:
    """By how much the score of a class beats all others at least, when a sequence ends."""
    n = net.layers[0].S.shape[1]
    u: Range = hidden[-1][0][None, -n:], hidden[-1][1][None, -n:]
    if net.end_token:
        x = token_gates(net, np.array([END]))
        for i, layer in enumerate(net.layers):
            if i:
                x = widen(net, linear(u, layer.W, layer.b), size(largest(u), layer.W, layer.b))
            u = apply(net, x, hidden[i])
    sizes = size(largest(u), net.H, net.d)
    gap = linear(u, net.H - net.H[winner], net.d - net.d[winner])
    _, worst = widen(net, gap, sizes + sizes[:, [winner]])
    return float(-np.delete(worst, winner, 1).max(initial=-np.inf))


# -- ranges --------------------------------------------------------------------------------------


def size(x: Array, W: Array, b: Array) -> Array:
    """The sum of the absolute terms of W x + b, each magnitude larger by NU."""
    sizes: Array = (abs(x) + NU) @ (abs(W) + NU).T + (abs(b) + NU)
    return sizes


def largest(a: Range) -> Array:
    """The largest magnitude in a range, larger by NU."""
    magnitudes: Array = np.maximum(abs(a[0]), abs(a[1])) + NU
    return magnitudes


def widen(net: Network, a: Range, sizes: Array) -> Range:
    """A range and the rounding error of a float32 sum whose absolute terms add up to `sizes`."""
    need(bool((sizes <= BIG).all()), "float32 may overflow")  # false for nan
    return a[0] - net.g * sizes, a[1] + net.g * sizes


def linear(u: Range, W: Array, b: Array) -> Range:
    """The range of W u + b over a box of u."""
    up, down = np.maximum(W, 0).T, np.minimum(W, 0).T
    return u[0] @ up + u[1] @ down + b, u[1] @ up + u[0] @ down + b


def sum_of_others(e: Array) -> Array:
    """For each column the sum of all others; nothing is subtracted, so nothing cancels."""
    zero = np.zeros((len(e), 1))
    before = np.hstack([zero, e.cumsum(1)[:, :-1]])
    after = np.hstack([zero, e[:, ::-1].cumsum(1)[:, :-1]])[:, ::-1]
    total: Array = before + after
    return total


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    value: Array = 1 / (1 + np.exp(-np.minimum(np.maximum(x, -700), 700)))
    return value


def inside(image: Range, box: Range, otherwise: str) -> None:
    """Demand that a box holds an image; nan is inside no box."""
    need(bool((image[0] >= box[0]).all() and (image[1] <= box[1]).all()), otherwise)


def need(condition: bool, otherwise: str) -> None:
    """Demand a condition of the proof."""
    if not condition:
        raise NotProvedError(otherwise)
