"""`scan`: a cell, and its stochastic component, along packed sequences.

The recurrence runs in centroid space. Since h_{t-1} = w_{t-1} S, the recurrent product is
w_{t-1} (S R^T), with M = S R^T built once per pass; since the weights w sum to 1, the bias folds
into M; hidden vectors are computed only on request. This is exact algebra.

Sequences are packed as in torch's `PackedSequence`: sorted by length, step t holds the first
`batch_sizes[t]` of them, no masks.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from kleene.nn.fused.dispatch import dispatch
from kleene.nn.inputs import Gates
from kleene.nn.loop import loop
from kleene.nn.recurrence import Recurrence, Scan


def scan(
    recurrence: Recurrence,
    inputs: Gates,  # steps gates*hidden
    batch_sizes: Sequence[int],
    hidden: Tensor,  # batch hidden
    memory: Tensor | None = None,  # batch hidden
    *,
    with_hidden: bool = False,
) -> Scan:
    """Run the recurrence along time from the given hidden vectors and memory.

    `with_hidden` announces that the hidden vectors of all steps will be used, which makes them
    cheaper.
    """
    found = dispatch(recurrence, inputs, batch_sizes, hidden, memory, with_hidden)
    return found if found is not None else loop(recurrence, inputs, batch_sizes, hidden, memory)
