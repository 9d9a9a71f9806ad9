"""What states do in typical training words, so that their weights can be read.

A state that every word visits tells nothing of the class, whatever its weight: so the mean and the
maximum of its probability are recorded. And a state may carry the tone of what was said before, at
symbols that say nothing themselves: so it is recorded how many of its symbols agree with its
weight. The scores of the network depend on none of this.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.data.alphabet import FIRST_SYMBOL
from kleene.data.examples import Examples
from kleene.nn.classifier import Classifier, full_weights
from kleene.nn.mode import inference
from kleene.nn.pooling import pool

WORDS = 4_000
"""Training words that are looked at, at most."""
SYMBOLS, MIN_COUNT, SURE = 20, 10, 0.5
"""Symbols that lead to a state most surely, of those that occur so often: all at least half as
surely as the first."""


def record_typical_states(network: Classifier, examples: Examples, seed: int) -> None:
    """Set `network.typical` from some training words."""
    config = network.config
    sums = torch.zeros(2, config.num_states)
    probs = np.zeros((max(config.num_symbols, 1), config.num_states))
    counts = np.zeros((len(probs), config.num_classes))
    words = 0
    with inference(network):
        for batch in examples.batches(64, seed=seed):
            alpha = network.observe(batch)[1][-1].weights  # steps state
            assert alpha is not None
            assert batch.labels is not None
            sizes = [len(batch), *batch.batch_sizes.tolist()]  # the start token's step first
            sums[0] += pool(alpha, sizes, mean=True).sum(0).cpu()
            sums[1] += pool(alpha, sizes, mean=False).sum(0).cpu()
            words += len(batch)
            if config.num_symbols:
                tokens = batch.tokens.astype(np.int64)
                rows = np.concatenate([np.arange(n) for n in sizes[1:]] or [tokens])
                np.add.at(probs, tokens, alpha[len(batch) :].cpu().numpy())
                np.add.at(counts, (tokens, batch.labels[rows]), 1)
            if words >= WORDS:
                break
    network.typical[:2] = sums / max(words, 1)
    if config.num_symbols and config.num_classes > 1:
        network.typical[2] = torch.from_numpy(agreement(network, probs, counts))


def agreement(
    network: Classifier, probs: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The share of each state's symbols that are commoner in the class its weight speaks for.

    Each counts by how surely it leads there.
    `probs` are sums of the states' probabilities by symbol, (symbol, state), `counts` occurrences
    by class, (symbol, class). A state without frequent symbols has 0.
    """
    often = counts.sum(1)
    often[:FIRST_SYMBOL] = 0
    frequent = np.flatnonzero(often >= MIN_COUNT)
    rates = counts[frequent] / np.maximum(counts.sum(0), 1)
    means = probs[frequent] / often[frequent, None]
    shares = np.zeros(probs.shape[1])
    for state, label in enumerate(full_weights(network).argmax(-1).tolist()):
        best = np.argsort(-means[:, state], kind="stable")[:SYMBOLS]
        best = best[means[best, state] >= SURE * means[best[:1], state]]
        others = np.delete(rates[best], label, 1).mean(1)
        sure = means[best, state]
        shares[state] = sure[rates[best, label] > others].sum() / max(sure.sum(), 1e-9)
    return shares
