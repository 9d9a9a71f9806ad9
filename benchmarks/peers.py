"""What the library is compared with: torch.nn, and the matrix products alone."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from kleene.nn import SRGRU, SRLSTM, StateRegularized

SHAPES = {  # time, batch, hidden, states, input
    "A": (100, 64, 100, 50, 100),
    "B": (784, 100, 256, 100, 1),
    "C": (200, 64, 256, 10, 256),
    "D": (30, 64, 10, 5, 10),
}


def network(cell: str, hidden: int, states: int, size: int) -> StateRegularized:
    if cell == "GRU":
        return SRGRU(size, hidden, num_states=states)
    return SRLSTM(size, hidden, num_states=states, peephole=True)


def peer(cell: str, hidden: int, size: int) -> nn.Module:
    return nn.GRU(size, hidden) if cell == "GRU" else nn.LSTM(size, hidden)


def products(cell: str, time: int, batch: int, d: int, k: int, size: int) -> Callable[[], None]:
    """The matrix products of a train step in centroid space, and nothing else."""
    rows, gates = time * batch, (3 if cell == "GRU" else 4) * d
    width = 4 * d
    new = torch.randn
    x, W, X, dW = new(rows, size), new(gates, size), new(rows, gates), new(gates, size)
    weights, M, G, dM = new(rows, k), new(k, width), new(rows, width), new(k, width)
    S, H, dS, u, score, g = new(k, d), new(rows, d), new(k, d), new(batch, d), new(batch, k), None
    g, dw = new(batch, width), new(rows, k)

    def run() -> None:
        torch.mm(x, W.T, out=X)
        for t in range(time):
            torch.mm(weights[t * batch : (t + 1) * batch], M, out=g)
            torch.mm(u, S.T, out=score)
        torch.mm(weights, S, out=H)
        torch.mm(H, S.T, out=dw)
        torch.mm(weights.T, H, out=dS)
        for t in range(time):
            torch.mm(G[t * batch : (t + 1) * batch], M.T, out=score)
            torch.mm(score, S, out=u)
        torch.mm(weights.T, G, out=dM)
        torch.mm(weights.T, H, out=dS)
        torch.mm(X.T, x, out=dW)

    return run
