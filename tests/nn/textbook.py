"""The paper's cells and components word for word: one word, one step, one gate at a time.

Nothing here is shared with the library but the names of the weights. The recurrence goes by the
hidden vector h, not by weights of centroids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Pass:
    """What a word leaves behind in one layer."""

    hidden: Tensor  # time hidden
    memory: Tensor | None  # time hidden
    alpha: Tensor | None  # time state


def sigma(x: Tensor) -> Tensor:
    return 1 / (1 + torch.exp(-x))


def elman_tanh(gate: Callable[[int], Tensor], h: Tensor, c: Tensor | None, p: Tensor | None):
    return torch.tanh(gate(0)), None


def elman_relu(gate: Callable[[int], Tensor], h: Tensor, c: Tensor | None, p: Tensor | None):
    return gate(0).clamp(min=0), None


def lstm(gate: Callable[[int], Tensor], h: Tensor, c: Tensor, p: Tensor | None):
    p_i, p_f, p_o = torch.zeros(3, len(c), dtype=c.dtype) if p is None else p
    i = sigma(gate(0) + p_i * c)
    f = sigma(gate(1) + p_f * c)
    candidate = torch.tanh(gate(2))
    c = f * c + i * candidate
    o = sigma(gate(3) + p_o * c)
    return o * torch.tanh(c), c


def textbook_step(module: nn.Module, layer: int, x: Tensor, h: Tensor, c: Tensor | None):
    """u_t and c_t from h_{t-1}, c_{t-1} and x_t."""
    size = len(h)

    def of(name: str) -> Tensor | None:
        return getattr(module, f"{name}_l{layer}", None)

    def part(name: str, i: int) -> Tensor:
        whole = of(name)
        return torch.zeros(size, dtype=h.dtype) if whole is None else whole[i * size :][:size]

    def x_gate(i: int) -> Tensor:
        return part("weight_ih", i) @ x + part("bias_ih", i)

    def h_gate(i: int) -> Tensor:
        return part("weight_hh", i) @ h + part("bias_hh", i)

    name = module.cell.name
    if name == "gru":
        r = sigma(x_gate(0) + h_gate(0))
        z = sigma(-(x_gate(1) + h_gate(1)))  # the paper's z is torch's 1 - z
        candidate = torch.tanh(x_gate(2) + r * h_gate(2))
        return z * candidate + (1 - z) * h, None
    cell = {"rnn": elman_tanh, "rnn-relu": elman_relu, "lstm": lstm, "lstm-p": lstm}[name]
    return cell(lambda i: x_gate(i) + h_gate(i), h, c, of("peephole"))


def textbook_scores(name: str, u: Tensor, S: Tensor) -> Tensor:
    if name == "dot":
        return torch.stack([torch.sum(u * s) for s in S])
    if name == "euclidean":
        return torch.stack([-torch.sum((u - s) ** 2) / 2 for s in S])
    if not u.any():  # a vector without direction is equally near to all
        return torch.zeros(len(S), dtype=u.dtype)
    lengths = torch.stack([torch.sqrt(torch.sum(u**2)) * torch.sqrt(torch.sum(s**2)) for s in S])
    return torch.stack([torch.sum(u * s) for s in S]) / lengths


def textbook_weights(name: str, scores: Tensor, tau: Tensor, noise: Tensor | None) -> Tensor:
    """The vector that multiplies the centroids, with the gradient its definition gives."""

    def omega(b: Tensor) -> Tensor:
        e = torch.exp(b / tau)
        return e / e.sum()

    def one_hot(b: Tensor) -> Tensor:
        return torch.eye(len(b), dtype=b.dtype)[int(b.argmax())]

    if name == "sample":
        return one_hot(scores / tau + noise)
    noisy = scores if noise is None else scores + noise
    if name in ("soft-argmax", "gumbel-hard"):
        soft = omega(noisy)
        return one_hot(noisy) + soft - soft.detach()
    return omega(noisy)


def textbook(
    module: nn.Module,
    word: Tensor,  # time input
    hidden: Sequence[Tensor] | None = None,
    memory: Sequence[Tensor] | None = None,
    noise: Callable[[int, int], Tensor | None] = lambda layer, t: None,
    blend: float = 1.0,
) -> list[Pass]:
    """Run a word through all layers; `noise(layer, t)` is what the transition adds."""
    passes: list[Pass] = []
    xs = list(word)
    zeros = torch.zeros(module.hidden_size, dtype=word.dtype)
    for layer in range(module.num_layers):
        h = zeros if hidden is None else hidden[layer]
        c = None if not module.cell.has_memory else zeros if memory is None else memory[layer]
        hs, cs, alphas = [], [], []
        for t, x in enumerate(xs):
            u, c = textbook_step(module, layer, x, h, c)
            if module.num_states:
                S = getattr(module, f"centroids_l{layer}")
                tau = torch.exp(getattr(module, f"log_temperature_l{layer}"))
                scores = textbook_scores(module.similarity.name, u, S)
                w = textbook_weights(module.transition.name, scores, tau, noise(layer, t))
                mixed = sum(w_i * s_i for w_i, s_i in zip(w, S, strict=True))
                h = (1 - blend) * u + blend * mixed
                alphas.append(textbook_weights("mixture", scores, tau, None))
            else:
                h = u
            hs.append(h)
            cs.append(c)
        stack = torch.stack
        passes.append(
            Pass(
                hidden=stack(hs) if hs else word.new_zeros(0, module.hidden_size),
                memory=stack(cs) if cs and c is not None else None,
                alpha=stack(alphas) if alphas else None,
            )
        )
        xs = hs
    return passes
