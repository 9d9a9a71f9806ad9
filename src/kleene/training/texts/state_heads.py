"""The first head of a network whose states were taught by n-grams.

Each state gets the weight of its kind, so that each step adds to the logits what its n-grams would.
Weights fitted to the training texts would trust the states too much, which know these texts.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.data.examples import Examples
from kleene.nn.classifier import Classifier
from kleene.nn.inference import inference
from kleene.nn.pooling import MEAN_SCALE, pool
from kleene.training.texts.ngram_texts import Texts
from kleene.training.texts.ngram_weights import NgramWeights
from kleene.training.texts.step_kinds import StepKinds

TEXTS, PENALTY = 4_000, 100.0
"""Texts that a head is fitted to, and the inverse strength of its penalty."""


def set_head(network: Classifier, texts: Texts, kinds: StepKinds, weights: NgramWeights) -> None:
    """Set the weights of the states to those of their kinds; the maximum has none.

    Slope and bias are those of texts that the n-grams had not seen. What the network's mean weight
    is off in some texts goes to the bias.
    """
    some, alpha = _some_means(network, texts)
    line = np.zeros(alpha.shape[1], np.float32)
    line[: len(kinds.weights)] = kinds.weights[:, 0]
    off = float(np.mean(some.means(weights.of_steps(some)[:, 0])) - np.mean(alpha @ line))
    slopes = torch.from_numpy(weights.slope * line / MEAN_SCALE)
    with torch.no_grad():
        head = network.head
        head.weight.zero_()
        head.bias.copy_(torch.tensor([-0.5, 0.5]) * (weights.bias + weights.slope * off))
        head.weight[:, : len(line)] = torch.stack([-slopes, slopes]) / 2


def _some_means(network: Classifier, texts: Texts) -> tuple[Texts, NDArray[np.float32]]:
    """The first texts, and the mean of each state's probability in them, (text, state)."""
    some = texts.select(np.arange(len(texts.lengths)) < TEXTS)
    words = np.split(some.ids, some.starts[1:])
    found = np.zeros((len(words), network.config.num_states), np.float32)
    with inference(network):
        for batch in Examples(words=words, labels=some.labels).in_order(64):
            alpha, sizes = network.observe(batch)[1][-1].weights, [len(batch), *batch.batch_sizes]
            assert alpha is not None
            found[batch.order] = pool(alpha, sizes, mean=True).cpu().numpy()
    return some, found


def fit_head(network: Classifier, texts: Texts) -> None:
    """Fit the head to the mean of the states in some texts, by logistic regression.

    The maximum has no weight at first, so that each step adds the weights of its states.
    """
    from sklearn.linear_model import LogisticRegression

    some, alpha = _some_means(network, texts)
    if len(np.unique(some.labels)) < max(network.config.num_classes, 2):
        return
    linear = LogisticRegression(C=PENALTY, max_iter=1000).fit(MEAN_SCALE * alpha, some.labels)
    with torch.no_grad():
        network.head.weight.zero_()
        network.head.weight[:, : alpha.shape[1]] = torch.from_numpy(linear.coef_)
        network.head.bias.copy_(torch.from_numpy(linear.intercept_))
