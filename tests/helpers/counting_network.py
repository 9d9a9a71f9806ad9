"""An LSTM set by hand that counts parentheses: exact, small and without any training.

Unit 0 counts: its gates are open, and it writes +1 on "(", -1 on ")" and 0 on a letter. The hidden
vector says whether the count is below, at or above 0. Unit 1 is a latch: it writes only after a
hidden vector that says "below". A word is accepted when the count is not above 0 and the latch is
empty.
"""

from __future__ import annotations

import torch

from kleene.data.alphabet import Alphabet
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig

OPEN = 20.0  # a pre-activation at which a gate is open, and below 0, closed


def counting_model(letters: str = "a", *, latch: bool = True) -> Model:
    """Balanced parentheses; without the latch, words that went below 0 may be accepted."""
    alphabet = Alphabet(f"{letters}()")
    config = NetworkConfig(
        num_symbols=len(alphabet),
        num_classes=2,
        cell="lstm-p",
        input_size=2,
        hidden_size=2,
        num_states=3,
        similarity="euclidean",
        temperature=0.05,
    )
    network = Classifier(config)
    rnn = network.rnn
    i, f, g, o = range(0, 8, 2)
    with torch.no_grad():
        for weight in network.parameters():
            weight.zero_()
        opened, closed = alphabet.encode("()").tolist()
        network.embedding.weight[opened, 0] = network.embedding.weight[closed, 1] = 1.0
        rnn.weight_ih_l0[g] = torch.tensor([OPEN, -OPEN])
        rnn.bias_ih_l0[[i, f, f + 1, g + 1, o, o + 1]] = OPEN
        rnn.weight_hh_l0[i + 1, 0], rnn.bias_ih_l0[i + 1] = -2 * OPEN, -OPEN
        rnn.centroids_l0[:, 0] = torch.tensor([-0.9, 0.0, 0.9])
        rnn.temperature = config.temperature
        # from (u, c) after the end token: reject what is above 0, or has ever been below
        network.head.weight[1] = torch.tensor([-2.0, 0.0, 0.0, -4.0 if latch else 0.0])
        network.head.bias[1] = 0.5
    network.eval()
    return Model(network=network, alphabet=alphabet, classes=(False, True), longest=20)
