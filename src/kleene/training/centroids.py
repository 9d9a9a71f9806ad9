"""Where the hidden vectors of a trained cell cluster, and centroids put there."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.data.examples import Examples
from kleene.kmeans import cluster_centres
from kleene.nn.classifier import Classifier
from kleene.nn.inference import inference
from kleene.nn.mode import PLAIN

MOST_VECTORS = 20_000


def seed_centroids(network: Classifier, examples: Examples, seed: int) -> None:
    """Put the centroids of every layer where the hidden vectors cluster."""
    rnn = network.rnn
    for layer in range(rnn.num_layers):
        vectors = hidden_vectors(network, examples, layer, seed)
        means = cluster_centres(vectors, rnn.num_states, seed)
        with torch.no_grad():
            centroids = rnn.centroids(layer)
            centroids[: len(means)] = torch.from_numpy(means).to(centroids)


def hidden_vectors(
    network: Classifier,
    examples: Examples,
    layer: int = -1,
    seed: int = 0,
    *,
    spread: int = 1,
) -> NDArray[np.float32]:
    """Hidden vectors of a layer along the words, component off, at most `MOST_VECTORS`.

    They come from up to `spread` times as many words, evenly spaced.
    """
    rows, total = [], 0
    with inference(network):
        for batch in examples.batches(256, seed=seed):
            trace = network.trace(batch, mode=PLAIN).layers[layer]
            rows.append(trace.hidden[trace.mask].cpu().numpy())
            total += len(rows[-1])
            if total >= MOST_VECTORS * spread:
                break
    found = np.concatenate(rows)[: MOST_VECTORS * spread]
    return found[:: max(1, -(-len(found) // MOST_VECTORS))]
