"""From the network's weights to the matrices that the loop reads, forward and backward.

M = S R^T + b, the keys and the first step's gates are a few small products. They are computed
inside the fused node: as nodes of torch's graph they would cost a small network more than its loop.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from kleene.nn.fused.kernels.records import GRU, LSTM
from kleene.nn.fused.plan import Plan, Tensors


def fold(plan: Plan, inputs: Tensors) -> Tensors:
    """Every tensor of a `Job` by name, contiguous, from those of `INPUTS`."""
    tensors = {name: None if t is None else t.contiguous() for name, t in inputs.items()}
    R, S, hidden = tensors["R"], tensors["S"], tensors["hidden"]
    assert R is not None
    assert hidden is not None
    bias = tensors["h_bias"]
    if plan.cell != GRU and tensors["bias"] is not None:  # both are added to the same sum
        bias = tensors["bias"] if bias is None else bias + tensors["bias"]
        tensors["bias"] = None
    if plan.cell >= LSTM and tensors["peephole"] is None:
        tensors["peephole"] = hidden.new_zeros(3, plan.hidden)
    tensors |= {"H0": _start(plan, hidden, R, bias), "keys": S, "offsets": None}
    if S is None:
        return tensors | {"M": R.T.contiguous(), "h_bias": bias}
    M = _gates(S, R, bias)
    tensors |= {"M": torch.cat([M, S], 1) if plan.cell == GRU else M, "h_bias": None}
    if plan.normalised:
        tensors["keys"] = normalize(S, dim=-1)
    if plan.offset:
        tensors["offsets"] = S.square().sum(-1).mul_(-0.5)
    return tensors


def _gates(rows: Tensor, R: Tensor, bias: Tensor | None) -> Tensor:
    gates = torch.mm(rows, R.T)
    return gates if bias is None else gates.add_(bias)


def _start(plan: Plan, hidden: Tensor, R: Tensor, bias: Tensor | None) -> Tensor:
    """R h_0 + b, and h_0 where the cell reads it; a single row if h_0 is zero."""
    if not plan.from_zero:
        first = _gates(hidden, R, bias)
        return torch.cat([first, hidden], 1) if plan.cell == GRU else first
    if bias is not None and plan.cell != GRU:
        return bias[None]
    row = hidden.new_zeros(1, plan.width)
    if bias is not None:
        row[0, : len(bias)] = bias
    return row


def required_grads(plan: Plan, needs: set[str]) -> set[str]:
    """The tensors of a job whose gradients are needed for those of the inputs in `needs`."""
    biases = needs & ({"h_bias"} if plan.cell == GRU else {"h_bias", "bias"})
    found = needs & {"X", "x", "W", "peephole", "c0"}
    if plan.cell == GRU:
        found |= needs & {"bias"}
    if biases or (not plan.from_zero and needs & {"R", "hidden"}):
        found.add("H0")
    if not plan.states:
        return found | ({"M"} if "R" in needs else set()) | ({"h_bias"} if biases else set())
    if biases or needs & {"R", "S"}:
        found.add("M")
    if "S" in needs:
        found |= {"keys", "offsets"} if plan.offset else {"keys"}
        found |= {"S"} if plan.with_hidden else set()
    return found | (needs & {"temperature"})


def unfold(
    plan: Plan, needs: set[str], tensors: Tensors, grads: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Gradients of `INPUTS` from those of a job's tensors."""
    R, S, hidden = tensors["R"], tensors["S"], tensors["hidden"]
    assert R is not None
    assert hidden is not None
    found = {name: grads[name] for name in (needs & grads.keys()) - {"h_bias", "S"}}
    dH0 = grads["H0"][:, : len(R)] if "H0" in grads else None
    dM = grads.get("M")
    dM = dM if dM is None else dM[:, : len(R)]
    if needs & {"h_bias", "bias"} - found.keys():
        assert dH0 is not None
        rows = dM if plan.states else grads["h_bias"][None]
        assert rows is not None
        total = rows.sum(0) + (dH0[0] if plan.from_zero else dH0.sum(0))
        found |= dict.fromkeys(needs & {"h_bias", "bias"} - found.keys(), total)
    if "R" in needs:
        assert dM is not None
        dR = dM.T if S is None else torch.mm(dM.T, S)
        if not plan.from_zero:
            assert dH0 is not None
            dR = torch.addmm(dR, dH0.T, hidden)
        found["R"] = dR
    if "hidden" in needs:
        assert dH0 is not None
        d = torch.mm(dH0, R)
        found["hidden"] = d.add_(grads["H0"][:, len(R) :]) if plan.cell == GRU else d
    if "S" in needs and S is not None:
        assert dM is not None
        dS = torch.addmm(_keys_backward(plan, S, tensors, grads), dM, R)
        if plan.cell == GRU:
            dS += grads["M"][:, len(R) :]
        if plan.with_hidden:
            dS += grads["S"]
        found["S"] = dS
    return found


def _keys_backward(plan: Plan, S: Tensor, tensors: Tensors, grads: dict[str, Tensor]) -> Tensor:
    """Gradient of the centroids from that of the keys and offsets."""
    d = grads["keys"]
    if plan.offset:
        return torch.addcmul(d, grads["offsets"][:, None], S, value=-1)
    if plan.normalised:
        keys = tensors["keys"]
        assert keys is not None
        along = (d * keys).sum(-1, keepdim=True)
        norms: Tensor = torch.linalg.vector_norm(S, dim=-1, keepdim=True).clamp_min(1e-12)
        return (d - keys * along) / norms
    return d
