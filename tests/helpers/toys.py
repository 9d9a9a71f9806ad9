"""A language that is learned at once, and a network that learns it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kleene import SequenceClassifier
from kleene.config import described
from kleene.data.examples import Examples
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.training.history import History


def words_ending_in_5(longest: int = 5) -> Examples:
    """All words over {4, 5}; class 1 are those that end in 5."""
    words = [w for n in range(longest + 1) for w in itertools.product((4, 5), repeat=n)]
    return Examples(
        words=[np.array(word, dtype=np.int64) for word in words],
        labels=np.array([int(word[-1:] == (5,)) for word in words]),
    )


def make_network(seed: int = 0, **settings: object) -> Classifier:
    torch.manual_seed(seed)
    config = {"num_symbols": 6, "num_classes": 2, "input_size": 4, "hidden_size": 6}
    config |= {"num_states": 3, "similarity": "euclidean", "temperature": 0.5, **settings}
    return Classifier(NetworkConfig(**config))


def weights_of(network: Classifier) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in network.state_dict().items()}


def same_bits(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def without_time(history: History) -> list[dict]:
    return [{**epoch, "seconds": 0} for epoch in history.to_dict()["epochs"]]


def small_estimator(**given: Any) -> SequenceClassifier:
    """A small network trained briefly; settings of network and training may be given flat."""
    nested: dict[str, Any] = {"network": {"input_size": 4}, "training": {"epochs": 2}}
    plain: dict[str, Any] = {"hidden_size": 8, "learn": "network", "random_state": 0}
    inside = {one.name: group for group, one in described() if group}
    for name, value in given.items():
        (nested[inside[name]] if name in inside else plain)[name] = value
    return SequenceClassifier(**{**nested, **plain})


WORDS = ["ab" * (i % 5) + "a" * (i % 3) for i in range(60)]
LABELS = [len(word) % 2 for word in WORDS]


def small(**parameters: Any) -> SequenceClassifier:
    """Four states for `WORDS` and `LABELS`."""
    return small_estimator(**{"states": 4, **parameters})
