"""What one step of a memory-less network can do to a whole region of states, as safe bounds.

A region is a box of mixtures, lo <= alpha <= hi with alpha summing to 1. All pre-activations are
linear in alpha, so their range over a box is exact; gates are monotone; the gaps between scores are
linear in u. Every stage is widened by more than its rounding error in float32, see `ROUNDING`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kleene.data.alphabet import END, FIRST_SYMBOL, START
from kleene.errors import ReadingError
from kleene.extraction.table import require_memoryless
from kleene.model import Model

Array: TypeAlias = NDArray[np.float64]
Interval: TypeAlias = tuple[Array, Array]

UNIT = 2.0**-24  # the rounding unit of float32
FUNCTION = 2.0**-19  # how far sigmoid and tanh may be off
TINY = 1e-37  # below this float32 may flush to zero
CHUNK = 2_000_000  # numbers in one array at a time

ROUNDING = (
    "The proof is about the network as it runs in float32, not only about exact arithmetic. Bounds "
    "are computed in float64 from the float32 weights, and every stage is widened by more than "
    "float32 can err there: sums of products by (inputs + hidden + 2 states + 128) 2^-24 times the "
    "sum of the absolute terms, whatever their order; sigmoid and tanh by 2^-19; exp, division and "
    "sum of the softmax by a factor of (states + 64) 2^-24; probabilities below 1e-37 may be lost. "
    "The rounding of float64 is at least 2^20 times smaller than these. Assumed are IEEE float32 "
    "products and sums (not TF32, bfloat16 or float16), and sigmoid, tanh and exp that keep within "
    "the errors named."
)


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """One layer of a memory-less network in float64, and the bounds of its steps."""

    embedding: Array  # token input
    W: Array  # gates*hidden input
    R: Array  # gates*hidden hidden
    b_input: Array
    b_hidden: Array
    S: Array  # state hidden
    head: Array  # class hidden
    b_head: Array
    cell: str
    similarity: str
    hard: bool
    """Whether the next state is the nearest centroid (soft-argmax), not a mixture."""
    end_token: bool

    @classmethod
    def of(cls, model: Model) -> Bounds:
        """The weights of a model, where the proof knows its kind of network."""
        require_memoryless(model)
        config = model.network.config
        refusals = {
            "several layers": config.num_layers > 1,
            "vectors as input": not config.num_symbols,
            "transition 'sample', which is random": config.transition == "sample",
        }
        for what, came in refusals.items():
            if came:
                raise ReadingError(
                    f"this network has {what}; a proof needs one layer, symbols and a transition "
                    "mixture, soft-argmax or gumbel; compare it with the automaton on words instead"
                )
        weights = model.network.state_dict()
        if any(str(w.dtype) not in ("torch.float32", "torch.float64") for w in weights.values()):
            raise ReadingError("the proof covers float32 networks; call network.float() first")

        def weight(name: str) -> Array:
            return np.asarray(weights[name].detach().cpu().numpy(), np.float64)

        return cls(
            embedding=weight("embedding.weight"),
            W=weight("rnn.weight_ih_l0"),
            R=weight("rnn.weight_hh_l0"),
            b_input=weight("rnn.bias_ih_l0"),
            b_hidden=weight("rnn.bias_hh_l0"),
            S=weight("rnn.centroids_l0"),
            head=weight("head.weight"),
            b_head=weight("head.bias"),
            cell=config.cell,
            similarity=config.similarity,
            hard=config.transition in ("soft-argmax", "gumbel-hard"),
            end_token=config.end_token,
        )

    @property
    def num_states(self) -> int:
        """How many centroids there are."""
        return len(self.S)

    @property
    def num_symbols(self) -> int:
        """How many symbols there are, without the special ones."""
        return len(self.embedding) - FIRST_SYMBOL

    @cached_property
    def slack(self) -> float:
        """Relative error of a float32 sum of products, of the longest chain there is."""
        terms = self.W.shape[1] + self.S.shape[1] + 2 * self.num_states + 128
        return float(terms * UNIT * 1.001)

    @cached_property
    def x_gates(self) -> Interval:
        """W x + b of every token, (token, gates*hidden)."""
        value = self.embedding @ self.W.T + self.b_input
        error = self.slack * (abs(self.embedding) @ abs(self.W).T + abs(self.b_input))
        return value - error, value + error

    @cached_property
    def table(self) -> Array:
        """R h + b, and h itself, of every centroid: (state, gates*hidden + hidden)."""
        return np.concatenate([self.S @ self.R.T + self.b_hidden, self.S], 1)

    @cached_property
    def rounding(self) -> Array:
        """Rounding error of a mixture of the rows of `table`, (gates*hidden + hidden,)."""
        terms = np.concatenate([abs(self.S) @ abs(self.R).T + abs(self.b_hidden), abs(self.S)], 1)
        return np.asarray(self.slack * terms.max(0))

    @cached_property
    def keys(self) -> Array:
        """What u is multiplied with, (state, hidden)."""
        norms = np.linalg.norm(self.S, axis=1, keepdims=True) if self.similarity == "cosine" else 1
        return np.asarray(self.S / np.maximum(norms, 1e-12))

    @cached_property
    def offsets(self) -> Array:
        """What is added to the scores, (state,)."""
        return -(self.S**2).sum(1) / 2 if self.similarity == "euclidean" else np.zeros(len(self.S))

    @cached_property
    def sorted_table(self) -> tuple[NDArray[np.intp], Array]:
        """The order of the centroids in each column of `table`, and their entries in that order."""
        order = self.table.argsort(0)
        return order, np.take_along_axis(self.table, order, 0)

    # -- from regions to hidden vectors ----------------------------------------------------------

    def mix(self, lo: Array, hi: Array) -> Interval:
        """The exact range of alpha `table` over boxes, (box, state) -> (box, column), widened.

        The least value: alpha = lo, and the mass that is left goes to the smallest entries first.
        """
        order, values = self.sorted_table
        left = 1 - lo.sum(1)[:, None, None]
        room, base, bounds = (hi - lo)[:, order], lo @ self.table, []  # box state column
        for way in (slice(None), slice(None, None, -1)):
            space = room[:, way]
            taken = np.clip(left - (space.cumsum(1) - space), 0, space)
            bounds.append(base + (taken * values[way]).sum(1))
        return bounds[0] - self.rounding, bounds[1] + self.rounding

    def apply(self, tokens: slice, mixed: Interval) -> Interval:
        """The cell's u over boxes for some tokens, (box, token, hidden)."""
        size = self.S.shape[1]
        lo, hi = (part[:, None] for part in mixed)
        x_lo, x_hi = (part[None, tokens] for part in self.x_gates)
        if self.cell != "gru":
            a_lo, a_hi = x_lo + lo[..., :-size], x_hi + hi[..., :-size]
            if self.cell == "rnn-relu":
                return np.maximum(a_lo, 0) * (1 - FUNCTION), np.maximum(a_hi, 0) * (1 + FUNCTION)
            return np.tanh(a_lo) - FUNCTION, np.tanh(a_hi) + FUNCTION
        gates = slice(0, 2 * size)
        rz_lo = _sigmoid(x_lo[..., gates] + lo[..., gates]) - FUNCTION
        rz_hi = _sigmoid(x_hi[..., gates] + hi[..., gates]) + FUNCTION
        r_lo, z_lo = np.split(np.clip(rz_lo, 0, 1), 2, -1)
        r_hi, z_hi = np.split(np.clip(rz_hi, 0, 1), 2, -1)
        q_lo, q_hi = lo[..., 2 * size : 3 * size], hi[..., 2 * size : 3 * size]
        h_lo, h_hi = lo[..., 3 * size :], hi[..., 3 * size :]
        a_lo = x_lo[..., 2 * size :] + np.minimum(r_lo * q_lo, r_hi * q_lo)
        a_hi = x_hi[..., 2 * size :] + np.maximum(r_lo * q_hi, r_hi * q_hi)
        n_lo = np.tanh(a_lo - self.slack * abs(a_lo)) - FUNCTION
        n_hi = np.tanh(a_hi + self.slack * abs(a_hi)) + FUNCTION
        # (1 - z) n + z h grows with n and with h, and lies between them: z at one of its ends.
        u_lo = np.minimum(n_lo + z_lo * (h_lo - n_lo), n_lo + z_hi * (h_lo - n_lo))
        u_hi = np.maximum(n_hi + z_lo * (h_hi - n_hi), n_hi + z_hi * (h_hi - n_hi))
        error = 8 * UNIT * (1 + np.maximum(abs(h_lo), abs(h_hi)))
        return u_lo - error, u_hi + error

    # -- from hidden vectors to regions ----------------------------------------------------------

    def gaps(self, u: Interval, winner: int) -> Interval:
        """The range of score_j - score_winner over boxes of u, (..., hidden) -> (..., state)."""
        lo, hi = linear_range(u, self.keys - self.keys[winner], self.offsets - self.offsets[winner])
        reach = np.maximum(abs(u[0]), abs(u[1]))
        if self.similarity == "cosine":
            far = np.maximum(np.linalg.norm(reach, axis=-1, keepdims=True), 1e-12)
            nearest = np.maximum(np.maximum(u[0], -u[1]), 0)
            near = np.maximum(np.linalg.norm(nearest, axis=-1, keepdims=True), 1e-12)
            lo, hi = np.where(lo > 0, lo / far, lo / near), np.where(hi > 0, hi / near, hi / far)
            error = np.full(self.num_states, 4 * self.slack)
        else:
            sizes = reach @ abs(self.keys).T + abs(self.offsets)
            error = self.slack * (sizes + sizes[..., winner, None])
        lo, hi = lo - error, hi + error
        lo[..., winner] = hi[..., winner] = 0
        return lo, hi

    def probabilities(self, gaps: Interval, winner: int, temperature: float) -> Interval:
        """Boxes of alpha from the gaps: alpha_j grows with gap j and falls with all others."""
        lo, hi = gaps
        if self.hard:
            can_win = hi >= 0
            alone = can_win.sum(-1, keepdims=True) == 1
            return (can_win & alone).astype(np.float64), can_win.astype(np.float64)
        # Ends beyond which a probability is below TINY anyway, or as good as 1; below, a smaller
        # lower end is always safe.
        e_lo = np.exp(np.clip(lo / temperature, -600, 5))
        e_hi = np.exp(np.clip(hi / temperature, -600, 300))
        others_lo = np.maximum(e_lo.sum(-1, keepdims=True) - e_lo, 0)
        total = e_hi.sum(-1, keepdims=True)
        others_hi = total * (1 + 1e-12) - e_hi
        factor = (self.num_states + 64) * UNIT
        lower = e_lo / (e_lo + others_hi) * (1 - factor) - TINY
        upper = e_hi / (e_hi + others_lo) * (1 + factor) + TINY
        return np.maximum(lower, 0), np.minimum(upper, 1)

    def start(self) -> Interval:
        """U after the start token, from a hidden vector of zeros."""
        size = self.S.shape[1]
        zeros = np.concatenate([self.b_hidden, np.zeros(size)])[None]
        error = self.slack * abs(zeros)
        lo, hi = self.apply(slice(START, START + 1), (zeros - error, zeros + error))
        return lo[:, 0], hi[:, 0]

    def classes(self, lo: Array, hi: Array, winner: int) -> Array:
        """The most by which any other class may beat the winner at the end, (box,)."""
        mixed = self.mix(lo, hi)
        if self.end_token:
            u_lo, u_hi = (part[:, 0] for part in self.apply(slice(END, END + 1), mixed))
        else:
            size = self.S.shape[1]
            u_lo, u_hi = mixed[0][:, -size:], mixed[1][:, -size:]
        D, offset = self.head - self.head[winner], self.b_head - self.b_head[winner]
        terms = np.maximum(abs(u_lo), abs(u_hi)) @ abs(self.head).T + abs(self.b_head)
        worst = linear_range((u_lo, u_hi), D, offset)[1]
        worst += self.slack * (terms + terms[:, winner, None])
        return np.asarray(np.delete(worst, winner, 1).max(1, initial=-np.inf))


def linear_range(u: Interval, D: Array, offset: Array) -> Interval:
    """The exact range of D u + offset over boxes of u, (..., hidden) -> (..., row)."""
    middle, radius = (u[0] + u[1]) / 2, (u[1] - u[0]) / 2
    value, reach = middle @ D.T + offset, radius @ abs(D).T
    return value - reach, value + reach


def _sigmoid(x: Array) -> Array:
    return 0.5 + 0.5 * np.tanh(0.5 * x)
