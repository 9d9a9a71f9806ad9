"""Centroids whose mixtures reproduce the hidden vectors of a trained cell.

k-means puts centroids where the *nearest* one is close to a hidden vector u. A network that runs at
a temperature tau continues with a mixture instead, alpha S with alpha = softmax(score(u, S) / tau),
which at k-means' centroids is far from u unless tau is small. So the squared error of the mixture,

    mean_u | alpha(u) S - u |^2,

is minimised over S, from the centroids of k-means spread around their mean. As tau goes to 0 this
is k-means; at a high tau the mixture is nearly linear in u and can be the identity if there are
more centroids than units. The cell then hardly notices that its hidden vectors are mixtures.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kleene.data.examples import Examples
from kleene.nn.classifier import Classifier
from kleene.nn.similarity import Similarity, probabilities, scores
from kleene.training.centroids import cluster_centres, hidden_vectors
from kleene.training.optimizers import Adam

STEPS, VECTORS, LEARNING_RATE = 2_000, 1_024, 0.2
"""Steps of Adam, hidden vectors of a step, and the learning rate in standard deviations of the
centroids' entries, which falls along a cosine."""
SPREADS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
"""Factors by which k-means' centroids are spread around their mean at the start."""
COMPARED = 5_000


def reconstruct_centroids(network: Classifier, examples: Examples, seed: int) -> None:
    """Set the centroids of every layer so that mixtures of them reproduce the hidden vectors."""
    rnn = network.rnn
    for layer in range(rnn.num_layers):
        vectors = hidden_vectors(network, examples, layer, seed)
        temperature = float(rnn.get_parameter(f"log_temperature_l{layer}").exp())
        found = reconstruct(vectors, rnn.num_states, rnn.similarity, temperature, seed)
        with torch.no_grad():
            rnn.centroids(layer).copy_(found)


def reconstruct(
    vectors: NDArray[np.float32],
    count: int,
    similarity: Similarity,
    temperature: float,
    seed: int,
    *,
    metric: Tensor | None = None,
    steps: int = STEPS,
    learning_rate: float = LEARNING_RATE,
) -> Tensor:
    """So many centroids whose mixtures at the temperature are close to the vectors.

    An error e counts as |e|^2, or as |e metric|^2.
    """
    targets = torch.from_numpy(vectors)
    clustered = torch.from_numpy(cluster_centres(vectors, count, seed))
    clustered = clustered[torch.arange(count) % len(clustered)]  # of fewer vectors, some twice

    def error(centroids: Tensor, u: Tensor) -> Tensor:
        alpha = probabilities(scores(similarity, centroids, u), temperature)
        errors = alpha @ centroids - u
        return (errors if metric is None else errors @ metric).square().sum(-1).mean()

    mean = clustered.mean(0)
    starts = [mean + spread * (clustered - mean) for spread in SPREADS]
    start = min(starts, key=lambda start: float(error(start, targets[:COMPARED])))
    found = start.clone().requires_grad_()
    optimizer = Adam([found], lr=learning_rate * float(start.std(0).mean()))
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    random = torch.Generator().manual_seed(seed)
    with torch.enable_grad():
        for _ in range(steps):
            rows = torch.randint(len(targets), (VECTORS,), generator=random)
            optimizer.zero_grad()
            error(found, targets[rows]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            falling.step()
    return min(start, found.detach(), key=lambda one: float(error(one, targets[:COMPARED])))
