"""Named ways of training, as stages.

`warm_start` is what makes memory-less networks readable. From random centroids a network may hide
bits of its state in the weights of a mixture, or not learn at all; so the cell learns first,
without the stochastic component; then the centroids are put where its hidden vectors cluster; then
the component comes on, with Gumbel noise that grows until only clear transitions survive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.data.examples import Examples
from kleene.nn.classifier import Classifier
from kleene.train.history import Epoch
from kleene.train.stage import Curriculum, Stage

MOST_VECTORS = 20_000


def seed_centroids(network: Classifier, examples: Examples, seed: int) -> None:
    """Put the centroids of every layer where the hidden vectors cluster (k-means++)."""
    from sklearn.cluster import KMeans

    rnn = network.rnn
    for layer in range(rnn.num_layers):
        vectors = hidden_vectors(network, examples, layer, seed)
        distinct = np.unique(vectors.round(6), axis=0)
        clusters = min(rnn.num_states, len(distinct))
        means = KMeans(clusters, n_init=1, random_state=seed % 2**31).fit(vectors).cluster_centers_
        with torch.no_grad():
            centroids = rnn.centroids(layer)
            centroids[:clusters] = torch.from_numpy(means).to(centroids)


def hidden_vectors(
    network: Classifier, examples: Examples, layer: int = -1, seed: int = 0
) -> NDArray[np.float32]:
    """Hidden vectors of a layer along the words, component off, at most `MOST_VECTORS`."""
    rnn = network.rnn
    regularized, rnn.regularized = rnn.regularized, False
    rows, total = [], 0
    network.eval()
    with torch.no_grad():
        for batch in examples.batches(256, seed=seed):
            trace = network.trace(batch).layers[layer]
            rows.append(trace.hidden[trace.mask].cpu().numpy())
            total += len(rows[-1])
            if total >= MOST_VECTORS:
                break
    rnn.regularized = regularized
    return np.concatenate(rows)[:MOST_VECTORS]


def warm_start(
    *,
    epochs: int = 200,
    sharpen_epochs: int = 40,
    learning_rate: float = 2e-3,
    batch_size: int = 64,
    balanced: bool = False,
    until: Callable[[Sequence[Epoch]], bool] | None = None,
) -> list[Stage]:
    """The cell alone, then centroids by k-means, then the component with growing noise."""
    return [
        Stage(
            name="cell",
            regularized=False,
            epochs=epochs,
            learning_rate=learning_rate,
            batch_size=batch_size,
            balanced=balanced,
            curriculum=Curriculum(),
            target=0.999,
            patience=20,
        ),
        Stage(
            name="states",
            epochs=sharpen_epochs,
            learning_rate=learning_rate / 4,
            batch_size=batch_size,
            balanced=balanced,
            noise=lambda epoch: min(1.0, 0.25 * epoch),
            prepare=seed_centroids,
            until=until,
        ),
    ]


def direct(
    *,
    epochs: int = 30,
    learning_rate: float = 2e-3,
    batch_size: int = 64,
    balanced: bool = False,
    optimizer: str = "adam",
    curriculum: Curriculum | None = None,
    patience: int | None = 5,
) -> list[Stage]:
    """Cell and component together from the start, as in the paper."""
    return [
        Stage(
            epochs=epochs,
            learning_rate=learning_rate,
            batch_size=batch_size,
            balanced=balanced,
            optimizer=optimizer,
            curriculum=curriculum,
            patience=patience,
        )
    ]
