"""The mean and maximum of the state probabilities in a typical training word.

A state that every word visits tells nothing of its class, whatever its weight. So weights of states
are read against what is typical; the scores of the network do not depend on it.
"""

from __future__ import annotations

import torch

from kleene.data.streaming import TrainingData
from kleene.nn.classifier import Classifier
from kleene.nn.inference import inference

WORDS = 2_000
"""Training words that are looked at, at most."""


def record_typical_states(network: Classifier, examples: TrainingData, seed: int) -> None:
    """Set `network.typical` to the means of both statistics over some training words."""
    total, words = torch.zeros_like(network.typical), 0
    with inference(network):
        for batch in examples.batches(64, seed=seed):
            weights = network.trace(batch).weights
            assert weights is not None
            lengths = torch.from_numpy(batch.lengths + 1).to(weights)  # with the start token
            total[0] += (weights.sum(1) / lengths[:, None]).sum(0)
            total[1] += weights.amax(1).sum(0)
            words += len(batch)
            if words >= WORDS:
                break
    network.typical.copy_(total / max(words, 1))
