"""The recurrent components: one class per cell, one line per equation.

A cell gets the two halves of its pre-activations, x_gates = W x_t + b_ih and h_gates = R h + b_hh,
so that the same lines serve a plain recurrence (h is the last hidden vector) and one in centroid
space (h is a mixture of centroids). Gates are stacked in torch's order, so that the weights of
`torch.nn.RNN`, `GRU` and `LSTM` fit as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import torch
from torch import Tensor

Given: TypeAlias = Tensor | None
"""A tensor that some cells do without."""


class Cell(Protocol):
    """u_t, c_t = f(h_{t-1}, c_{t-1}, x_t)."""

    @property
    def name(self) -> str:
        """The name used in files and on the command line."""

    @property
    def gates(self) -> int:
        """How many blocks of `hidden_size` rows W and R have."""

    @property
    def has_memory(self) -> bool:
        """Whether a memory c is carried beside the hidden vector."""

    @property
    def reads_hidden(self) -> bool:
        """Whether the step needs h_{t-1} itself, beside R h_{t-1}."""

    @property
    def peepholes(self) -> int:
        """How many peephole vectors the cell has."""

    def step(
        self,
        x_gates: Tensor,  # batch gates*hidden
        h_gates: Tensor,  # batch gates*hidden
        hidden: Given,  # batch hidden
        memory: Given,  # batch hidden
        peephole: Given,  # peepholes hidden
    ) -> tuple[Tensor, Given]:
        """One application: the vector u_t, (batch, hidden), and the memory c_t."""


@dataclass(frozen=True)
class Elman:
    """u_t = phi(W x_t + R h_{t-1} + b), phi = tanh or relu."""

    nonlinearity: str = "tanh"
    gates: int = 1
    has_memory: bool = False
    reads_hidden: bool = False
    peepholes: int = 0

    @property
    def name(self) -> str:
        return "rnn" if self.nonlinearity == "tanh" else "rnn-relu"

    def step(
        self, x_gates: Tensor, h_gates: Tensor, hidden: Given, memory: Given, peephole: Given
    ) -> tuple[Tensor, Given]:
        phi: Callable[[Tensor], Tensor] = torch.tanh if self.nonlinearity == "tanh" else torch.relu
        return phi(x_gates + h_gates), None


@dataclass(frozen=True)
class GRU:
    """The gated recurrent unit.

    r = sigma(W_r x + R_r h + b_r)
    z = sigma(W_z x + R_z h + b_z)
    n = tanh(W_n x + b_in + r * (R_n h + b_hn))
    u = (1 - z) * n + z * h

    As in torch, the reset gate acts after the product, and z keeps the old state (the paper's z is
    1 - z here).
    """

    name: str = "gru"
    gates: int = 3
    has_memory: bool = False
    reads_hidden: bool = True
    peepholes: int = 0

    def step(
        self, x_gates: Tensor, h_gates: Tensor, hidden: Given, memory: Given, peephole: Given
    ) -> tuple[Tensor, Given]:
        assert hidden is not None
        x_r, x_z, x_n = x_gates.chunk(3, -1)
        h_r, h_z, h_n = h_gates.chunk(3, -1)
        r = torch.sigmoid(x_r + h_r)
        z = torch.sigmoid(x_z + h_z)
        n = torch.tanh(x_n + r * h_n)
        return (1 - z) * n + z * hidden, None


@dataclass(frozen=True)
class LSTM:
    """Long short-term memory; with `peephole`, the gates see the memory.

    i = sigma(W_i x + R_i h + p_i * c_{t-1} + b_i)
    f = sigma(W_f x + R_f h + p_f * c_{t-1} + b_f)
    g = tanh(W_g x + R_g h + b_g)
    c = f * c_{t-1} + i * g
    o = sigma(W_o x + R_o h + p_o * c_t + b_o)
    u = o * tanh(c)
    """

    peephole: bool = False
    gates: int = 4
    has_memory: bool = True
    reads_hidden: bool = False

    @property
    def name(self) -> str:
        """LSTM-P is the paper's name of the one with peepholes."""
        return "lstm-p" if self.peephole else "lstm"

    @property
    def peepholes(self) -> int:
        """One vector for each of the input, forget and output gates."""
        return 3 if self.peephole else 0

    def step(
        self, x_gates: Tensor, h_gates: Tensor, hidden: Given, memory: Given, peephole: Given
    ) -> tuple[Tensor, Given]:
        assert memory is not None
        a_i, a_f, a_g, a_o = (x_gates + h_gates).chunk(4, -1)
        if peephole is not None:
            a_i = a_i + peephole[0] * memory
            a_f = a_f + peephole[1] * memory
        c = torch.sigmoid(a_f) * memory + torch.sigmoid(a_i) * torch.tanh(a_g)
        if peephole is not None:
            a_o = a_o + peephole[2] * c
        return torch.sigmoid(a_o) * torch.tanh(c), c
