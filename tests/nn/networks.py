"""Small networks and inputs that several tests share."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from kleene.nn import (
    SRGRU,
    SRLSTM,
    SRRNN,
    StateRegularized,
    cosine,
    dot,
    euclidean,
    gumbel,
    gumbel_hard,
    mixture,
    sample,
    soft_argmax,
)

SIMILARITIES = (dot, euclidean, cosine)
TRANSITIONS = (mixture, soft_argmax, gumbel, gumbel_hard, sample)
CELLS = ("rnn", "rnn-relu", "gru", "lstm", "lstm-p")
MEMORY_LESS = ("rnn", "rnn-relu", "gru")


def network(cell: str, *sizes: int, seed: int = 0, **settings: object) -> StateRegularized:
    """A random float64 network of one of the five cells, its weights and centroids spread out."""
    torch.manual_seed(seed)
    made = {
        "rnn": SRRNN,
        "rnn-relu": lambda *a, **k: SRRNN(*a, nonlinearity="relu", **k),
        "gru": SRGRU,
        "lstm": SRLSTM,
        "lstm-p": lambda *a, **k: SRLSTM(*a, peephole=True, **k),
    }[cell](*sizes, dtype=torch.float64, **settings)
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if not name.startswith("log_temperature"):
                weight.mul_(2)
    return made


def ragged(lengths: list[int], size: int, seed: int = 1) -> tuple[list[Tensor], PackedSequence]:
    """Random words in any order of lengths, and torch's packing of them."""
    generator = torch.Generator().manual_seed(seed)
    words = [
        torch.randn(n, size, dtype=torch.float64, generator=generator, requires_grad=True)
        for n in lengths
    ]
    return words, pack_sequence(words, enforce_sorted=False)


class Remembering:
    """A transition that keeps the noise it drew, so that a second source can use the same."""

    def __init__(self, transition: object) -> None:
        self.transition, self.name = transition, transition.name
        self.drawn: list[Tensor | None] = []

    def draw(self, steps: int, states: int, like: Tensor, stochastic: bool) -> Tensor | None:
        self.drawn.append(self.transition.draw(steps, states, like, stochastic))
        return self.drawn[-1]

    def __call__(self, scores: Tensor, temperature: Tensor, noise: Tensor | None) -> Tensor:
        return self.transition(scores, temperature, noise)
