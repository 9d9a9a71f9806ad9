"""Named ways of training, as stages.

`warm` is what makes memory-less networks readable. From random centroids a network may hide
bits of its state in the weights of a mixture, or not learn at all; so the cell learns first,
without the stochastic component; then the centroids are put where its hidden vectors cluster; then
the component comes on, with Gumbel noise that grows until only clear transitions survive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.data.streamed import Lessons
from kleene.nn.classifier import Classifier
from kleene.train.stage import Curriculum, Stage

MOST_VECTORS = 20_000


def seed_centroids(network: Classifier, examples: Lessons, seed: int) -> None:
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
    network: Classifier, examples: Lessons, layer: int = -1, seed: int = 0
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


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a recipe leaves open."""

    optimizer: str = "adam"
    learning_rate: float = 3e-3
    batch_size: int = 32
    epochs: int | None = None
    """None is the recipe's own number."""
    patience: int | None = None
    """Epochs without improvement on the validation words; None is the recipe's own number."""
    balanced: bool = False


Recipe = Callable[[Settings], list[Stage]]


def cell_stage(settings: Settings) -> Stage:
    """The cell alone, easy words first: `warm` without its second half."""
    return Stage(
        name="cell",
        regularized=False,
        epochs=settings.epochs or 1000,
        optimizer=settings.optimizer,
        learning_rate=settings.learning_rate,
        batch_size=settings.batch_size,
        balanced=settings.balanced,
        curriculum=Curriculum(),
        target=0.999,
        patience=settings.patience or 10,
    )


def states_stage(settings: Settings) -> Stage:
    """Centroids where the hidden vectors cluster, then the component with growing noise."""
    return Stage(
        name="states",
        epochs=settings.epochs or 12,
        optimizer=settings.optimizer,
        learning_rate=settings.learning_rate / 6,
        batch_size=settings.batch_size,
        balanced=settings.balanced,
        noise=lambda epoch: min(1.0, 0.25 * epoch),
        prepare=seed_centroids,
        patience=settings.patience or 6,
    )


def warm(settings: Settings) -> list[Stage]:
    """The warm start: first the cell, then its states."""
    return [cell_stage(settings), states_stage(settings)]


def direct(settings: Settings) -> list[Stage]:
    """Cell and component together from random centroids, as in the paper."""
    return [
        Stage(
            epochs=settings.epochs or 50,
            optimizer=settings.optimizer,
            learning_rate=settings.learning_rate,
            batch_size=settings.batch_size,
            balanced=settings.balanced,
            patience=settings.patience or 5,
        )
    ]


def curriculum(settings: Settings) -> list[Stage]:
    """As `direct`, easy words first: for languages, and for cells with memory."""
    stage = direct(settings)[0]
    epochs = settings.epochs or 400
    return [replace(stage, epochs=epochs, curriculum=Curriculum(), target=0.999)]


RECIPES: dict[str, Recipe] = {"warm": warm, "direct": direct, "curriculum": curriculum}
