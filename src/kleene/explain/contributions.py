"""Exact shares of the logits, for networks that classify statistics of their states.

With `pooling="states"` the logits are b + 10 mean_t alpha_t W + 3 max_t alpha_t V, so a step's
share is 10 alpha_t W / T, plus 3 alpha_t(j) V_j for every state j that peaks at it. The shares of
all steps, the start token's among them, and the bias add up to the logits.
"""

from __future__ import annotations

from torch import Tensor

from kleene.errors import ReadingError
from kleene.nn.classifier import Classifier
from kleene.nn.pooling import MAX_SCALE, MEAN_SCALE
from kleene.nn.trace import Trace


def adds_up(network: Classifier) -> bool:
    """Whether the shares of the steps add up to the logits."""
    return network.config.pooling == "states"


def state_weights(network: Classifier) -> tuple[Tensor, Tensor]:
    """The logits of a word that is in a state throughout, and those of its being there once.

    Two tensors, (state, class): 10 W and 3 V.
    """
    if not adds_up(network):
        raise ReadingError(
            "only networks with pooling='states' have weights of states; train one, "
            "or use the method evidence"
        )
    mean, largest = network.head.weight.detach().T.chunk(2)
    return MEAN_SCALE * mean, MAX_SCALE * largest


def contributions(network: Classifier, trace: Trace) -> Tensor:
    """Each step's share of the logits, (batch, time, class); time 0 is the start token's."""
    on_mean, on_max = state_weights(network)
    assert trace.weights is not None
    alpha = trace.weights  # zero in the padding
    shares = alpha @ on_mean / trace.lengths[:, None, None]
    largest, when = alpha.max(1)  # batch state
    peaks = largest[:, :, None] * on_max  # batch state class
    index = when[:, :, None].expand_as(peaks)
    return shares.scatter_add(1, index, peaks)
