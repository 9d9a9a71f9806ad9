"""From the scores of the states to the next hidden vector: h = weights @ S.

A transition turns scores, (batch, state), into the weights of the centroids. Noise is drawn for a
whole pass before it starts, from torch's global generator, as dropout does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from kleene.nn.similarity import probabilities


class Transition(Protocol):
    """The map h(alpha, S) of the paper, as weights of the centroids."""

    @property
    def name(self) -> str:
        """The name used in files and on the command line."""

    def draw(self, steps: int, states: int, like: Tensor, noise: bool) -> Tensor | None:
        """The noise of a whole pass, (step, state), or None where the transition needs none."""

    def __call__(self, scores: Tensor, temperature: Tensor, noise: Tensor | None) -> Tensor:
        """Weights of the centroids, (batch, state), each row summing to 1."""


def gumbel_noise(steps: int, states: int, like: Tensor) -> Tensor:
    """I.i.d. samples of Gumbel(0, 1): g = -log(-log(u)), u uniform; torch's own exponential
    distribution takes four times as long."""
    dtype = torch.promote_types(like.dtype, torch.float32)
    u = torch.rand(steps, states, dtype=dtype, device=like.device)
    u.clamp_(min=torch.finfo(dtype).tiny)
    return u.log_().neg_().log_().neg_().to(like.dtype)


def straight_through(soft: Tensor) -> Tensor:
    """One-hot forward, the gradient of the soft weights backward."""
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    return hard + (soft - soft.detach())


@dataclass(frozen=True)
class Mixture:
    """h = sum_i alpha_i s_i, the mixture of centroids."""

    name: str = "mixture"

    def draw(self, steps: int, states: int, like: Tensor, noise: bool) -> Tensor | None:
        return None

    def __call__(self, scores: Tensor, temperature: Tensor, noise: Tensor | None) -> Tensor:
        return probabilities(scores, temperature)


@dataclass(frozen=True)
class SoftArgmax:
    """h = s_j with j = argmax alpha; gradients pass straight through to alpha."""

    name: str = "soft-argmax"

    def draw(self, steps: int, states: int, like: Tensor, noise: bool) -> Tensor | None:
        return None

    def __call__(self, scores: Tensor, temperature: Tensor, noise: Tensor | None) -> Tensor:
        return straight_through(probabilities(scores, temperature))


@dataclass(frozen=True)
class Gumbel:
    """alpha_i ~ exp((score_i + g_i) / tau) with g_i from Gumbel(0, 1), scaled by `scale`.

    Noise is drawn while training, or when sampling is asked for; otherwise this is the mixture
    (`hard=False`) or the soft argmax (`hard=True`, straight-through gradient).
    """

    scale: float = 1.0
    hard: bool = False

    @property
    def name(self) -> str:
        return "gumbel-hard" if self.hard else "gumbel"

    def draw(self, steps: int, states: int, like: Tensor, noise: bool) -> Tensor | None:
        if not noise or self.scale == 0:
            return None
        return self.scale * gumbel_noise(steps, states, like)

    def __call__(self, scores: Tensor, temperature: Tensor, noise: Tensor | None) -> Tensor:
        alpha = probabilities(scores if noise is None else scores + noise, temperature)
        return straight_through(alpha) if self.hard else alpha


@dataclass(frozen=True)
class Sample:
    """Draw j ~ alpha and set h = s_j; no gradient reaches alpha.

    By the Gumbel-max trick, argmax_i (score_i / tau + g_i) is a draw from alpha.
    """

    name: str = "sample"

    def draw(self, steps: int, states: int, like: Tensor, noise: bool) -> Tensor | None:
        """Always noise: the transition is the draw."""
        return gumbel_noise(steps, states, like)

    def __call__(self, scores: Tensor, temperature: Tensor, noise: Tensor | None) -> Tensor:
        assert noise is not None
        drawn = (scores / temperature + noise).argmax(-1)
        return one_hot(drawn, scores.shape[-1]).to(scores.dtype)


mixture, soft_argmax, sample = Mixture(), SoftArgmax(), Sample()
gumbel, gumbel_hard = Gumbel(), Gumbel(hard=True)
