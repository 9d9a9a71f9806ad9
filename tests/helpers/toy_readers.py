"""Small random networks and words for the tests of readers."""

from __future__ import annotations

import numpy as np
import torch

from kleene.data.alphabet import Alphabet
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig

ALPHABET = Alphabet(["good", "bad", "film", "the", ".", "not"])
CLASSES = ("negative", "positive")


def toy_network(seed: int = 0, **settings: object) -> Classifier:
    """A random network in which words matter: embeddings and centroids are spread out."""
    torch.manual_seed(seed)
    chosen = {
        "num_symbols": len(ALPHABET),
        "num_classes": 2,
        "cell": "lstm-p",
        "input_size": 5,
        "hidden_size": 7,
        "num_states": 4,
        **settings,
    }
    network = Classifier(NetworkConfig(**chosen))  # type: ignore[arg-type]
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if "centroids" in name or "embedding" in name:
                weight.normal_(0, 1.5)
            elif "log_temperature" not in name:
                weight.normal_(0, 0.6)
    return network.eval()


def toy_model(
    network: Classifier | None = None, alphabet: Alphabet = ALPHABET, **settings: object
) -> Model:
    """A network, or a random one of some settings, with the names of its symbols and classes."""
    made = toy_network(**settings) if network is None else network  # type: ignore[arg-type]
    return Model(network=made, alphabet=alphabet, classes=CLASSES)


def toy_words(count: int = 30, longest: int = 9, seed: int = 0) -> list[tuple[str, ...]]:
    """Random words over the alphabet and one unknown symbol, the empty word among them."""
    random = np.random.default_rng(seed)
    symbols = [*ALPHABET.symbols, "unheard"]
    lengths = random.integers(1, longest + 1, count - 1)
    drawn = [tuple(str(s) for s in random.choice(symbols, n)) for n in lengths]
    return [*drawn[: count // 2], (), *drawn[count // 2 :]]


NETWORKS = [
    {"cell": cell, "pooling": pooling, "end_token": end, "num_layers": layers}
    for cell in ("gru", "lstm-p")
    for pooling, end, layers in (
        ("last", True, 1),
        ("last", False, 2),
        ("mean", False, 1),
        ("max", False, 2),
        ("states", False, 1),
    )
]
