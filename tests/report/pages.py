"""Small untrained models, and what a report says of them."""

from __future__ import annotations

from typing import Any

import torch

from kleene.data.alphabet import Alphabet
from kleene.machine import Label, Symbol, Word
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig

HOSTILE = ("<script>alert(1)</script>", "</script>", "<img", "src=x", "onerror=alert(1)>", "&amp;")


def random_model(
    symbols: tuple[Symbol, ...] = ("0", "1"),
    *,
    classes: tuple[Label, ...] = (0, 1),
    tokens: str = "chars",
    seed: int = 0,
    **settings: Any,
) -> Model:
    """A network with random weights, large enough that its table has several states."""
    torch.manual_seed(seed)
    config = {"cell": "rnn", "similarity": "euclidean", "temperature": 0.02, "num_states": 6}
    network = Classifier(
        NetworkConfig(
            num_symbols=4 + len(symbols),
            num_classes=len(classes),
            input_size=4,
            hidden_size=8,
            **{**config, **settings},
        )
    )
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if "weight_" in name or "head" in name or "embedding" in name:
                weight.mul_(3.0)
        if network.rnn.num_states:
            network.rnn.centroids().uniform_(-1, 1)
    network.eval()
    return Model(
        network=network, alphabet=Alphabet(symbols), classes=classes, tokens=tokens, longest=12
    )


def random_words(model: Model, count: int, *, longest: int = 12, seed: int = 0) -> list[Word]:
    """Words over the alphabet of a model, the empty one among them."""
    generator = torch.Generator().manual_seed(seed)
    symbols = model.alphabet.symbols
    words: list[Word] = []
    for i in range(count):
        length = i % (longest + 1)
        picks = torch.randint(len(symbols), (length,), generator=generator).tolist()
        word = tuple(symbols[p] for p in picks)
        words.append("".join(map(str, word)) if model.tokens == "chars" else word)
    return words
