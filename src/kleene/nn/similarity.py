"""How near a vector u is to each centroid: the score inside the paper's omega(S, u).

Every similarity is `query(u) @ keys.T + offsets`, with keys and offsets made once per pass, so that
all of them run at the price of the dot product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import normalize


class Similarity(Protocol):
    """Scores of the centroids for a vector u; the state of the highest score is the nearest."""

    @property
    def name(self) -> str:
        """The name used in files and on the command line."""

    def keys(self, centroids: Tensor) -> tuple[Tensor, Tensor | None]:
        """Rows to multiply with, (state, hidden), and what to add to the scores, (state,)."""

    def query(self, u: Tensor) -> Tensor:
        """What is multiplied with the rows."""


@dataclass(frozen=True)
class Dot:
    """u . s, as in the paper. A centroid of large norm wins whatever u is."""

    name: str = "dot"

    def keys(self, centroids: Tensor) -> tuple[Tensor, Tensor | None]:
        return centroids, None

    def query(self, u: Tensor) -> Tensor:
        return u


@dataclass(frozen=True)
class Euclidean:
    """-|u - s|^2 / 2 = u . s - |s|^2 / 2 - |u|^2 / 2; the last term is the same for every state."""

    name: str = "euclidean"

    def keys(self, centroids: Tensor) -> tuple[Tensor, Tensor | None]:
        return centroids, -centroids.square().sum(-1) / 2

    def query(self, u: Tensor) -> Tensor:
        return u


@dataclass(frozen=True)
class Cosine:
    """u . s / (|u| |s|): only directions count. Wants a temperature of about 0.1."""

    name: str = "cosine"

    def keys(self, centroids: Tensor) -> tuple[Tensor, Tensor | None]:
        return normalize(centroids, dim=-1), None

    def query(self, u: Tensor) -> Tensor:
        return normalize(u, dim=-1)


dot, euclidean, cosine = Dot(), Euclidean(), Cosine()


def scores(similarity: Similarity, centroids: Tensor, u: Tensor) -> Tensor:
    """Scores of all centroids for vectors u, (..., hidden) -> (..., state)."""
    keys, offsets = similarity.keys(centroids)
    product = similarity.query(u) @ keys.T
    return product if offsets is None else product + offsets


def probabilities(scores: Tensor, temperature: Tensor | float) -> Tensor:
    """alpha_i = exp(score_i / tau) / sum_j exp(score_j / tau)."""
    return torch.softmax(scores / temperature, -1)
