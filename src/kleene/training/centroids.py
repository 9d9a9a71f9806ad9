"""Hidden vectors of a trained cell, and centroids: far apart, or the centres of clusters."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.examples import Examples
from kleene.nn.classifier import Classifier
from kleene.nn.mode import PLAIN, inference

MAX_VECTORS, MAX_STARTS = 20_000, 4_000


def spread_centroids(network: Classifier, examples: Examples, seed: int) -> None:
    """Put the centroids on hidden vectors of the cell, each next one far from those before.

    A vector is drawn with a probability proportional to its squared distance to the nearest
    centroid (D^2 sampling, the start of k-means++).
    """
    random = np.random.default_rng(seed)
    for layer in range(network.rnn.num_layers):
        vectors = hidden_vectors(network, examples, layer, seed)[:MAX_STARTS]
        chosen = _far_apart(vectors, network.rnn.num_states, random)
        with torch.no_grad():
            centroids = network.rnn.centroids(layer)
            centroids.copy_(torch.from_numpy(vectors[chosen]).to(centroids))


def cluster_centroids(network: Classifier, examples: Examples, seed: int) -> None:
    """Put the centroids on the centres of clusters of the cell's hidden vectors."""
    for layer in range(network.rnn.num_layers):
        vectors = hidden_vectors(network, examples, layer, seed)
        found = torch.from_numpy(cluster_centres(vectors, network.rnn.num_states, seed))
        with torch.no_grad():
            centroids = network.rnn.centroids(layer)
            centroids.copy_(found[torch.arange(len(centroids)) % len(found)])


def _far_apart(vectors: NDArray[np.float32], count: int, random: np.random.Generator) -> Ints:
    chosen = [0]
    distances = np.square(vectors - vectors[0]).sum(1).astype(np.float64)
    while len(chosen) < count:
        total = distances.sum()
        weights = distances / total if total > 0 else None
        chosen.append(int(random.choice(len(vectors), p=weights)))
        distances = np.minimum(distances, np.square(vectors - vectors[chosen[-1]]).sum(1))
    return np.array(chosen)


def hidden_vectors(
    network: Classifier,
    examples: Examples,
    layer: int = -1,
    seed: int = 0,
    *,
    spread: int = 1,
) -> NDArray[np.float32]:
    """Hidden vectors of a layer along the words, component off, at most `MAX_VECTORS`.

    They come from up to `spread` times as many words, evenly spaced.
    """
    rows, total = [], 0
    with inference(network):
        for batch in examples.batches(256, seed=seed):
            trace = network.trace(batch, mode=PLAIN).layers[layer]
            rows.append(trace.hidden[trace.mask].cpu().numpy())
            total += len(rows[-1])
            if total >= MAX_VECTORS * spread:
                break
    found = np.concatenate(rows)[: MAX_VECTORS * spread]
    return found[:: max(1, -(-len(found) // MAX_VECTORS))]


def cluster_centres(
    vectors: NDArray[Any], count: int, seed: int, *, restarts: int = 1
) -> NDArray[np.float32]:
    """Centres of at most `count` clusters of the rows (k-means++).

    On one thread: scikit-learn adds up the parts of several in the order in which they finish.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    distinct = len(np.unique(vectors.round(5), axis=0))
    clusters = KMeans(min(count, distinct), n_init=restarts, random_state=seed % 2**31)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct vectors than clusters
        centres: NDArray[np.float32] = clusters.fit(vectors).cluster_centers_.astype(np.float32)
    return centres
