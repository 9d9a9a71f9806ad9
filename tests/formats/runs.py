"""The small task whose model and whose stopped run were kept."""

from __future__ import annotations

import numpy as np
import torch

import kleene as kl
from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.training.stages import Stage


def words_and_labels() -> tuple[list[str], list[bool]]:
    """Words of Tomita 1."""
    return kl.languages.tomita(1).sample(300, lengths=range(9), seed=0)


def begun() -> tuple[Classifier, Examples, list[Stage]]:
    """A network before its first step, and what to train it with."""
    words, labels = words_and_labels()
    alphabet = Alphabet("01")
    examples = Examples(words=alphabet.encode_many(words), labels=np.array(labels, dtype=np.int64))
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=len(alphabet), num_classes=2, input_size=4, hidden_size=8, num_states=3
    )
    return Classifier(config), examples, [Stage(epochs=3, batch_size=32)]
