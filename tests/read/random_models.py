"""Small random networks of every kind that a proof knows; untrained, so each is its own machine."""

from __future__ import annotations

import functools
import math

import torch

from kleene.data.alphabet import Alphabet
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.read.certificate import Certificate
from kleene.read.certify import certify, largest_temperature

KINDS = [  # seeds whose machines have at least three states
    {"seed": 14, "cell": "gru", "similarity": "dot"},
    {"seed": 12, "cell": "gru", "similarity": "euclidean", "scale": 1.5},
    {"seed": 50, "cell": "gru", "similarity": "cosine"},
    {"seed": 55, "cell": "rnn", "similarity": "dot"},
    {"seed": 24, "cell": "rnn", "similarity": "euclidean"},
    {"seed": 41, "cell": "rnn", "similarity": "cosine"},
    {"seed": 26, "cell": "rnn-relu", "similarity": "dot"},
    {"seed": 26, "cell": "rnn-relu", "similarity": "euclidean"},
    {"seed": 17, "cell": "rnn-relu", "similarity": "cosine", "scale": 1.5},
    {"seed": 28, "transition": "soft-argmax"},
    {"seed": 35, "transition": "gumbel-hard", "cell": "gru"},
    {"seed": 31, "transition": "gumbel", "classes": ("x", "y", "z")},
    {"seed": 58, "end_token": False, "classes": (0, 1, 2, 3), "symbols": "abc"},
]


def random_model(
    seed: int = 0,
    *,
    symbols: str = "ab",
    classes: tuple[object, ...] = (False, True),
    num_states: int = 6,
    hidden_size: int = 8,
    scale: float = 3.0,
    **settings: object,
) -> Model:
    """A network with weights so large that its table has several states."""
    config = {"cell": "rnn", "similarity": "euclidean", "temperature": 0.02, **settings}
    torch.manual_seed(seed)
    network = Classifier(
        NetworkConfig(
            num_symbols=4 + len(symbols),
            num_classes=len(classes),
            input_size=4,
            hidden_size=hidden_size,
            num_states=num_states,
            **config,
        )
    )
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if "weight_" in name or "head" in name or "embedding" in name:
                weight.mul_(scale)
        network.rnn.centroids().uniform_(-1, 1)
    network.eval()
    return Model(network=network, alphabet=Alphabet(symbols), classes=classes)


@functools.cache
def at_the_edge(kind: int) -> tuple[Model, Certificate]:
    """A model and its proof, nearly at the largest temperature that has one: the widest boxes."""
    model = random_model(**KINDS[kind])
    largest = largest_temperature(model)
    assert largest is not None
    if math.isfinite(largest):
        model.network.rnn.temperature = 0.98 * largest
    certificate = certify(model)
    assert isinstance(certificate, Certificate), certificate.reason
    assert certificate.dfa.num_states >= 3
    return model, certificate
