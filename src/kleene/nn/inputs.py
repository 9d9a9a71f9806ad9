"""The input's half of a layer's gates, W x + b, before it is computed.

A scan that can fold the product into its loop never builds the whole of it; any other asks for
`gates()`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor
from torch.nn.functional import embedding, linear


@dataclass(frozen=True, kw_only=True)
class Projected:
    """Vectors and the weights they are multiplied with."""

    x: Tensor  # steps input
    weight: Tensor  # gates*hidden input
    bias: Tensor | None  # gates*hidden

    def gates(self) -> Tensor:
        """W x + b."""
        return linear(self.x, self.weight, self.bias)


@dataclass(frozen=True, kw_only=True)
class LookedUp:
    """Symbols, and the gates that each symbol of the alphabet gives."""

    ids: Tensor  # steps
    table: Tensor  # symbol gates*hidden

    def gates(self) -> Tensor:
        """One row of the table a step."""
        return embedding(self.ids, self.table)


Gates: TypeAlias = Tensor | Projected | LookedUp


def gates_of(inputs: Gates) -> Tensor:
    """The product itself."""
    return inputs if isinstance(inputs, Tensor) else inputs.gates()
