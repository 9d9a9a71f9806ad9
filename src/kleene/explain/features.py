"""Transition features: a word as the mean of its transition probabilities, one number a state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kleene.arrays import Floats
from kleene.data.batch import Encoded
from kleene.explain.traces import batched_traces
from kleene.nn.classifier import Classifier


def features(network: Classifier, encoded: Sequence[Encoded]) -> Floats:
    """For every word the mean of P over its steps, (1/T) sum_t P_t, (word, state).

    The empty word has the probabilities after the start token.
    """
    rows = np.zeros((len(encoded), network.config.num_states), np.float32)
    for traced in batched_traces(network, encoded):
        lengths = traced.batch.lengths[:, None]
        sums = (traced.probs[:, 1:] * traced.mask[:, :, None]).sum(1)
        means = np.where(lengths > 0, sums / np.maximum(lengths, 1), traced.probs[:, 0])
        rows[traced.batch.order] = means
    return rows
