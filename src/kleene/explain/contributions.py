"""Exact shares of the logits, for networks that classify statistics of their states.

With `pooling="states"` the logits are b + 10 mean_t alpha_t W + 3 max_t alpha_t V. Let m and M be
the typical mean and maximum of alpha in a training word. Since alpha sums to 1, the logits are

    b + 10 m W + 3 M V  +  sum_t 10 alpha_t (W - m W) / T  +  3 (max_t alpha_t - M) V

A step's share is its term of the sum, plus 3 (alpha_t(j) - M_j) V_j for every state j that peaks at
it higher than is typical. What is left is the same for all words, but for states that a word visits
less than is typical: absence belongs to no symbol. So shares and rest add up to the logits.
"""

from __future__ import annotations

from torch import Tensor

from kleene.nn.classifier import Classifier
from kleene.nn.pooling import MEAN_SCALE
from kleene.nn.state_weights import state_weights
from kleene.nn.trace import Trace


def contributions(network: Classifier, trace: Trace) -> Tensor:
    """Each step's share of the logits, (batch, time, class); time 0 is the start token's."""
    on_mean, on_max = state_weights(network)
    alpha = _alpha(trace)
    shares = alpha @ on_mean / trace.lengths[:, None, None]
    largest, when = alpha.max(1)  # batch state
    peaks = (largest - network.typical[1]).clamp(min=0)[:, :, None] * on_max  # batch state class
    return shares.scatter_add(1, when[:, :, None].expand_as(peaks), peaks)


def rest(network: Classifier, trace: Trace) -> Tensor:
    """What no step has a share of, (batch, class): with `contributions` it is the logits."""
    on_max, typical = state_weights(network)[1], network.typical
    mean = network.head.weight.detach().T[: len(on_max)]
    base = network.head.bias.detach() + MEAN_SCALE * (typical[0] @ mean) + typical[1] @ on_max
    missing = (_alpha(trace).amax(1) - typical[1]).clamp(max=0)
    return base + missing @ on_max


def _alpha(trace: Trace) -> Tensor:
    """The weights of the states at each step, zero in the padding, (batch, time, state)."""
    assert trace.weights is not None
    return trace.weights
