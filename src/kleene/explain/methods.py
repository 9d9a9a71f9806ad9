"""How much each symbol of a word speaks for the network's prediction, in three ways.

Each method is a function of one traced pass, so explaining costs little more than predicting.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from kleene.arrays import Floats, Ints
from kleene.errors import SettingError
from kleene.explain.traces import TracedBatch, margins, prefix_scores, state_scores
from kleene.nn.classifier import Classifier, adds_up, lead, state_weights
from kleene.nn.mode import inference
from kleene.nn.trace import Trace

Method = Callable[[Classifier, TracedBatch, Ints], Floats]
"""From a network, traced words and the state that predicts each, to weights (batch, time)."""


def level(network: Classifier, traced: TracedBatch, states: Ints) -> Floats:
    """The probability of moving to the predicting state j, as in the paper: P_t(j)."""
    chosen: Floats = np.take_along_axis(traced.probs, states[:, None, None], -1)[:, 1:, 0]
    return chosen


def evidence(network: Classifier, traced: TracedBatch, states: Ints) -> Floats:
    """By how much a symbol raises the log-odds of the predicted class.

    Every prefix is classified, which the trace allows without another pass. The weights of a word
    add up to its log-odds minus the log-odds of the empty word.
    """
    with inference(network):
        after = margins(prefix_scores(network, traced.trace), traced.predicted_classes)
    raised: Floats = np.diff(after.float().cpu().numpy(), axis=1)
    return raised


def contribution(network: Classifier, traced: TracedBatch, states: Ints) -> Floats:
    """A symbol's exact share of the predicted class's lead; needs `pooling="states"`."""
    with torch.inference_mode():
        shares = lead(contributions(network, traced.trace), traced.predicted_classes)
    return shares[:, 1:].float().cpu().numpy()


METHODS: dict[str, Method] = {"level": level, "evidence": evidence, "contribution": contribution}
FULL_STRENGTH = {"level": 0.5, "evidence": 1.0, "contribution": 0.1}
"""The smallest weight that is shown in full colour: probabilities, log-odds, or shares of these."""


def require_method(name: str) -> str:
    """The name, if there is such a method."""
    if name not in METHODS:
        raise SettingError(f"method must be one of {', '.join(METHODS)}, got {name!r}")
    return name


def predicting_states(network: Classifier, traced: TracedBatch) -> Ints:
    """For each word the state that stands for its prediction.

    Where states have weights it is the one that gives the prediction most. Else it is the last
    state, as in the paper, if that state's own class is the predicted one; memory and pooling may
    lead to another prediction, and then it is the state of the predicted class that the word visits
    most, and the last state if there is none.
    """
    if adds_up(network):
        on_mean, on_max = state_weights(network)
        probs = alpha(traced.trace)
        with torch.inference_mode():
            mean = probs.sum(1) / traced.trace.lengths[:, None]  # batch state
            above = probs.amax(1) - network.typical[1]
            shares = mean[:, :, None] * on_mean + above[:, :, None] * on_max
            return lead(shares, traced.predicted_classes).argmax(-1).cpu().numpy()
    state_classes = state_scores(network).argmax(-1).cpu().numpy()
    last: Ints = traced.states[np.arange(len(traced.batch)), traced.batch.lengths]
    agree = state_classes[None, :] == traced.predicted[:, None]
    visits = (traced.probs[:, 1:] * traced.mask[:, :, None]).sum(1)
    favourite = np.where(agree, visits, -1.0).argmax(-1)
    fits = (state_classes[last] == traced.predicted) | ~agree.any(-1)
    chosen: Ints = np.where(fits, last, favourite)
    return chosen


def contributions(network: Classifier, trace: Trace) -> Tensor:
    """Each step's exact share of the logits, (batch, time, class); time 0 is the start token's.

    With `pooling="states"` the logits are b + 10 mean_t alpha_t W + 3 max_t alpha_t V. Let m and M
    be the typical mean and maximum of alpha in a training word. Since alpha sums to 1, they are

        b + 10 m W + 3 M V  +  sum_t 10 alpha_t (W - m W) / T  +  3 (max_t alpha_t - M) V

    A step's share is its term of the sum, plus 3 (alpha_t(j) - M_j) V_j for every state j that
    peaks at this step higher than is typical. The rest of the logits comes from no symbol: from the
    bias, and from states that the word visits less than is typical.
    """
    on_mean, on_max = state_weights(network)
    probs = alpha(trace)
    shares = probs @ on_mean / trace.lengths[:, None, None]
    largest, when = probs.max(1)  # batch state
    peaks = (largest - network.typical[1]).clamp(min=0)[:, :, None] * on_max  # batch state class
    return shares.scatter_add(1, when[:, :, None].expand_as(peaks), peaks)


def alpha(trace: Trace) -> Tensor:
    """Probabilities of the states at each step, zero in the padding, (batch, time, state)."""
    assert trace.weights is not None
    return trace.weights
