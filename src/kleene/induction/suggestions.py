"""Automata that a trained cell suggests: its hidden vectors clustered, its table read off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.data.examples import Examples
from kleene.extraction.table import read_table
from kleene.kmeans import cluster_centres
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.training.centroids import hidden_vectors

CLUSTERS = (8, 16, 32, 64)


def suggestions(
    model: Model, examples: Examples, *, clusters: Sequence[int] = CLUSTERS, seed: int = 0
) -> Iterator[Callable[[], DFA]]:
    """One automaton for each number of clusters, made when it is asked for."""
    vectors = hidden_vectors(model.network, examples, seed=seed)
    for count in clusters:
        yield partial(_cluster_table, model, vectors, count, seed)


def _cluster_table(model: Model, vectors: NDArray[np.float32], count: int, seed: int) -> DFA:
    network = with_centroids(model.network, cluster_centres(vectors, count, seed))
    return read_table(replace(model, network=network)).dfa.minimize()


def with_centroids(network: Classifier, centroids: NDArray[np.float32]) -> Classifier:
    """A copy of a one-layer network that has the given centroids, the component on."""
    copy = Classifier(replace(network.config, num_states=len(centroids)))
    weights = network.state_dict()
    weights = {name: w for name, w in weights.items() if not name.startswith("rnn.centroids")}
    copy.load_state_dict(weights, strict=False)
    with torch.no_grad():
        copy.rnn.centroids(0).copy_(torch.from_numpy(centroids))
    copy.rnn.temperature = network.rnn.temperature
    return copy.to(network.device).eval()
