"""How much each symbol of a word speaks for the network's prediction: three ways to say it.

Each is a function of one traced pass, so that explaining costs little more than predicting.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.arrays import Floats, Ints
from kleene.errors import SettingError
from kleene.explain.batched_traces import Pass
from kleene.explain.scoring import margins, prefix_scores
from kleene.nn.classifier import Classifier

Method = Callable[[Classifier, Pass, Ints], Floats]
"""From a network, a pass over words and the state that predicts each, to weights (batch, time)."""


def level(network: Classifier, done: Pass, states: Ints) -> Floats:
    """The probability of moving to the predicting state j, as in the paper: P_t(j)."""
    return _of_state(done.probs, states)[:, 1:]


def change(network: Classifier, done: Pass, states: Ints) -> Floats:
    """By how much a symbol raises the probability of the predicting state: P_t(j) - P_{t-1}(j)."""
    probs = _of_state(done.probs, states)
    return np.diff(probs, axis=1)


def evidence(network: Classifier, done: Pass, states: Ints) -> Floats:
    """By how much a symbol raises the log-odds of the predicted class.

    The network is asked for its verdict after every prefix, which the trace gives without another
    pass. The weights of a word add up to its log-odds minus those of the empty word.
    """
    with torch.inference_mode():
        predicted = torch.from_numpy(done.predicted).to(done.scores.device)
        after = margins(prefix_scores(network, done.trace), predicted)
    raised: Floats = np.diff(after.float().cpu().numpy(), axis=1)
    return raised


METHODS: dict[str, Method] = {"level": level, "change": change, "evidence": evidence}


def choose_method(name: str) -> Method:
    """The method of a name."""
    if name not in METHODS:
        raise SettingError(f"method={name!r} came, choose one of {', '.join(METHODS)}")
    return METHODS[name]


def predicting_states(done: Pass, verdicts: Ints) -> Ints:
    """For each word the state that stands for its prediction.

    It is the last state, as in the paper, where that state's own class (`verdicts`) is the
    predicted one. Memory and pooling may lead to another prediction; then it is the state most
    visited by the word among those of the predicted class, and the last state if there is none.
    """
    last: Ints = done.states[np.arange(len(done.batch)), done.batch.lengths]
    agree: NDArray[np.bool_] = verdicts[None, :] == done.predicted[:, None]
    visits = (done.probs[:, 1:] * done.mask[:, :, None]).sum(1)
    favourite = np.where(agree, visits, -1.0).argmax(-1)
    fits = (verdicts[last] == done.predicted) | ~agree.any(-1)
    chosen: Ints = np.where(fits, last, favourite)
    return chosen


def _of_state(probs: Floats, states: Ints) -> Floats:
    """The probabilities of one state a word, (batch, time)."""
    chosen: Floats = np.take_along_axis(probs, states[:, None, None], -1)[:, :, 0]
    return chosen
