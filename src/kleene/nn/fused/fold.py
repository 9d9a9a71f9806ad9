"""What the loop reads, from the weights of the network; and the way back, for the gradients.

M = S R^T + b, the keys and the first step's gates are a handful of small products. They are made
inside the fused node: as nodes of torch's graph they would cost a small network more than its loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import normalize

from kleene.nn.fused.kernels.cells import GRU, LSTM
from kleene.nn.fused.layout import Layout

GIVEN = (
    "X", "ids", "x", "W", "bias", "hidden", "R", "h_bias", "S", "temperature", "noise",
    "peephole", "c0",
)  # fmt: skip
Tensors: TypeAlias = dict[str, Tensor | None]


class Settings(NamedTuple):
    """What is no tensor."""

    cell: int
    hidden: int
    states: int
    hard: bool
    unit: bool  # keys are the centroids' directions
    offset: bool  # half the centroids' squared norms are taken off the scores
    batch: int
    layout: Layout
    from_zero: bool  # the hidden vectors of the start are zero and want no gradient
    keep: bool  # there will be a way back
    full: bool  # memory and scores of all steps are wanted
    mixed: bool  # hidden vectors of all steps are wanted, as mixtures of the centroids
    plain: Callable[..., tuple[Tensor | None, ...]]  # the same by torch's own operations

    @property
    def width(self) -> int:
        """Of the recurrent half of the gates, with the hidden vector where the cell reads it."""
        return self.hidden if self.cell < GRU else 4 * self.hidden

    @property
    def gates(self) -> int:
        """Of the input's half of the gates."""
        return 3 * self.hidden if self.cell == GRU else self.width


def fold(settings: Settings, given: Tensors) -> Tensors:
    """Every tensor of a `Job` by name, contiguous; `given` are those of `GIVEN`."""
    held = {name: None if t is None else t.contiguous() for name, t in given.items()}
    R, S, hidden = held["R"], held["S"], held["hidden"]
    assert R is not None
    assert hidden is not None
    bias = held["h_bias"]
    if settings.cell != GRU and held["bias"] is not None:  # both are added to the same sum
        bias = held["bias"] if bias is None else bias + held["bias"]
        held["bias"] = None
    if settings.cell >= LSTM and held["peephole"] is None:
        held["peephole"] = hidden.new_zeros(3, settings.hidden)
    held |= {"H0": _start(settings, hidden, R, bias), "keys": S, "offsets": None}
    if S is None:
        return held | {"M": R.T.contiguous(), "h_bias": bias}
    M = _gates(S, R, bias)
    held |= {"M": torch.cat([M, S], 1) if settings.cell == GRU else M, "h_bias": None}
    if settings.unit:
        held["keys"] = normalize(S, dim=-1)
    if settings.offset:
        held["offsets"] = S.square().sum(-1).mul_(-0.5)
    return held


def _gates(rows: Tensor, R: Tensor, bias: Tensor | None) -> Tensor:
    gates = torch.mm(rows, R.T)
    return gates if bias is None else gates.add_(bias)


def _start(settings: Settings, hidden: Tensor, R: Tensor, bias: Tensor | None) -> Tensor:
    """R h_0 + b, and h_0 where the cell reads it; one row stands for zeros."""
    if not settings.from_zero:
        first = _gates(hidden, R, bias)
        return torch.cat([first, hidden], 1) if settings.cell == GRU else first
    if bias is not None and settings.cell != GRU:
        return bias[None]
    row = hidden.new_zeros(1, settings.width)
    if bias is not None:
        row[0, : len(bias)] = bias
    return row


def asked(settings: Settings, needs: set[str]) -> set[str]:
    """The names of a job's tensors whose gradients give those that are needed of `GIVEN`."""
    biases = needs & ({"h_bias"} if settings.cell == GRU else {"h_bias", "bias"})
    found = needs & {"X", "x", "W", "peephole", "c0"}
    if settings.cell == GRU:
        found |= needs & {"bias"}
    if biases or (not settings.from_zero and needs & {"R", "hidden"}):
        found.add("H0")
    if not settings.states:
        return found | ({"M"} if "R" in needs else set()) | ({"h_bias"} if biases else set())
    if biases or needs & {"R", "S"}:
        found.add("M")
    if "S" in needs:
        found |= {"keys", "offsets"} if settings.offset else {"keys"}
        found |= {"S"} if settings.mixed else set()
    return found | (needs & {"temperature"})


def unfold(
    settings: Settings, needs: set[str], held: Tensors, grads: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Gradients of `GIVEN` from those of a job's tensors."""
    R, S, hidden = held["R"], held["S"], held["hidden"]
    assert R is not None
    assert hidden is not None
    found = {name: grads[name] for name in (needs & grads.keys()) - {"h_bias", "S"}}
    dH0 = grads["H0"][:, : len(R)] if "H0" in grads else None
    dM = grads.get("M")
    dM = dM if dM is None else dM[:, : len(R)]
    if needs & {"h_bias", "bias"} - found.keys():
        assert dH0 is not None
        rows = dM if settings.states else grads["h_bias"][None]
        assert rows is not None
        total = rows.sum(0) + (dH0[0] if settings.from_zero else dH0.sum(0))
        found |= dict.fromkeys(needs & {"h_bias", "bias"} - found.keys(), total)
    if "R" in needs:
        assert dM is not None
        dR = dM.T if S is None else torch.mm(dM.T, S)
        if not settings.from_zero:
            assert dH0 is not None
            dR = torch.addmm(dR, dH0.T, hidden)
        found["R"] = dR
    if "hidden" in needs:
        assert dH0 is not None
        d = torch.mm(dH0, R)
        found["hidden"] = d.add_(grads["H0"][:, len(R) :]) if settings.cell == GRU else d
    if "S" in needs and S is not None:
        assert dM is not None
        dS = torch.addmm(_keys_back(settings, S, held, grads), dM, R)
        if settings.cell == GRU:
            dS += grads["M"][:, len(R) :]
        if settings.mixed:
            dS += grads["S"]
        found["S"] = dS
    return found


def _keys_back(settings: Settings, S: Tensor, held: Tensors, grads: dict[str, Tensor]) -> Tensor:
    """The centroids' gradient from the scores."""
    d = grads["keys"]
    if settings.offset:
        return torch.addcmul(d, grads["offsets"][:, None], S, value=-1)
    if settings.unit:
        keys = held["keys"]
        assert keys is not None
        along = (d * keys).sum(-1, keepdim=True)
        norms: Tensor = torch.linalg.vector_norm(S, dim=-1, keepdim=True).clamp_min(1e-12)
        return (d - keys * along) / norms
    return d
