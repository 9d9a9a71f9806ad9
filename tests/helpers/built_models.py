"""Networks whose automaton is known, because their weights are written down from it."""

from __future__ import annotations

import numpy as np
import torch

from kleene.automata import DFA
from kleene.data.alphabet import FIRST_SYMBOL, START, Alphabet
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig


def built_model(dfa: DFA, *, temperature: float = 0.05, layers: int = 1) -> Model:
    """A relu network that is the automaton: unit (q, a) fires after reading a in state q.

    u(q, a) = relu(x_a + [one of the units that lead to q fired] - 1), centroids are the unit
    vectors; one more unit fires after the start token. Upper layers copy the one below.
    """
    n, m = dfa.transitions.shape
    alphabet = Alphabet(dfa.alphabet)
    classes = tuple(sorted(set(dfa.outputs)))
    leads = np.concatenate([[dfa.initial], dfa.transitions.reshape(-1)])  # where each unit leads
    units = len(leads)
    network = Classifier(
        NetworkConfig(
            num_symbols=len(alphabet),
            num_classes=len(classes),
            cell="rnn-relu",
            input_size=len(alphabet),
            hidden_size=units,
            num_states=units,
            num_layers=layers,
            similarity="euclidean",
            temperature=temperature,
            end_token=False,
        )
    )
    origin = np.repeat(np.arange(n), m)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim():
                parameter.zero_()
        network.embedding.weight.copy_(torch.eye(len(alphabet)))
        rnn = network.rnn
        rnn.weight_ih_l0[0, START] = 1
        rnn.weight_ih_l0[1:] = torch.eye(len(alphabet))[FIRST_SYMBOL:].repeat(n, 1)
        rnn.weight_hh_l0[1:] = torch.from_numpy(leads[None] == origin[:, None]).float()
        rnn.bias_ih_l0[1:] = -1
        for layer in range(layers):
            rnn.centroids(layer).copy_(torch.eye(units))
            if layer:
                getattr(rnn, f"weight_ih_l{layer}").copy_(torch.eye(units))
        for unit, state in enumerate(leads):
            network.head.weight[classes.index(dfa.outputs[state]), unit] = 1
    network.eval()
    return Model(network=network, alphabet=alphabet, classes=classes, tokens="symbols", longest=8)


def random_dfa(seed: int, states: int = 4, symbols: str = "ab", labels: int = 2) -> DFA:
    random = np.random.default_rng(seed)
    outputs = [bool(i % 2) if labels == 2 else f"kind {i % labels}" for i in range(states)]
    return DFA(
        alphabet=tuple(symbols),
        transitions=random.integers(0, states, (states, len(symbols))).astype(np.int32),
        outputs=tuple(outputs),
    )


def random_model(
    seed: int, cell: str = "gru", layers: int = 1, states: int = 5, symbols: str = "ab"
) -> Model:
    """A network nobody trained, its weights large enough to make it move between states."""
    torch.manual_seed(seed)
    alphabet = Alphabet(symbols)
    config = NetworkConfig(
        num_symbols=len(alphabet),
        num_classes=2,
        cell=cell,
        input_size=4,
        hidden_size=6,
        num_states=states,
        num_layers=layers,
        similarity="euclidean",
        temperature=0.5,
    )
    network = Classifier(config)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "temperature" not in name:
                parameter.mul_(3)
    network.eval()
    return Model(network=network, alphabet=alphabet, classes=(False, True), longest=10)
