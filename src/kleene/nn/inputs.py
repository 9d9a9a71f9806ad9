"""The input's half of a layer's gates, W x + b, not yet computed.

The fused path computes it inside its loop and never builds all of it; the plain loop calls
`gates()`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from torch import Tensor
from torch.nn.functional import embedding, linear


class Projected(NamedTuple):
    """Vectors, and the weights that multiply them."""

    x: Tensor  # steps input
    weight: Tensor  # gates*hidden input
    bias: Tensor | None  # gates*hidden

    def gates(self) -> Tensor:
        """W x + b."""
        return linear(self.x, self.weight, self.bias)


class LookedUp(NamedTuple):
    """Ids of symbols, and a table of the gates of every symbol."""

    ids: Tensor  # steps
    table: Tensor  # symbol gates*hidden

    def gates(self) -> Tensor:
        """One row of the table a step."""
        return embedding(self.ids, self.table)


Gates: TypeAlias = Tensor | Projected | LookedUp


def gates_of(inputs: Gates) -> Tensor:
    """The product, computed."""
    return inputs if isinstance(inputs, Tensor) else inputs.gates()
