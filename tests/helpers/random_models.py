"""Networks to prove things about: random ones of every kind, and one built from an automaton."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
import torch

from kleene.automata import DFA
from kleene.data.alphabet import FIRST_SYMBOL, START, Alphabet
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.proof.certificate import Certificate
from kleene.proof.certify import certify

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
    {"seed": 38, "num_layers": 2, "cell": "gru"},
    {"seed": 3, "num_layers": 2, "cell": "rnn", "similarity": "cosine"},
    {"seed": 5, "num_layers": 3, "cell": "rnn", "transition": "soft-argmax"},
    {"seed": 58, "end_token": False, "classes": (0, 1, 2, 3), "symbols": "abc"},
]


def random_model(
    seed: int = 0,
    *,
    symbols: Sequence[str] = "ab",
    classes: tuple[object, ...] = (False, True),
    num_states: int = 6,
    hidden_size: int = 8,
    scale: float = 3.0,
    **settings: object,
) -> Model:
    """A network with weights so large that its table has several states."""
    config = {
        "cell": "rnn",
        "input_size": 4,
        "similarity": "euclidean",
        "temperature": 0.02,
        **settings,
    }
    torch.manual_seed(seed)
    network = Classifier(
        NetworkConfig(
            num_symbols=4 + len(symbols),
            num_classes=len(classes),
            hidden_size=hidden_size,
            num_states=num_states,
            **config,
        )
    )
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if "weight_" in name or "head" in name or "embedding" in name:
                weight.mul_(scale)
        for layer in range(network.rnn.num_layers if num_states else 0):
            network.rnn.centroids(layer).uniform_(-1, 1)
    network.eval()
    return Model(network=network, alphabet=Alphabet(symbols), classes=classes)


def largest_temperature(model: Model) -> float:
    """The largest temperature that has a proof, up to 64 times the model's own."""
    own = model.network.rnn.temperature
    model.network.rnn.temperature = 64 * own
    found = certify(model)
    model.network.rnn.temperature = own
    return 64 * own if isinstance(found, Certificate) else found.largest_temperature or 0.0


@functools.cache
def at_the_edge(kind: int) -> tuple[Model, Certificate]:
    """A model and its proof, nearly at the largest temperature that has one: the widest boxes."""
    model = random_model(**KINDS[kind])
    largest = largest_temperature(model)
    if math.isfinite(largest):
        model.network.rnn.temperature = 0.98 * largest
    certificate = certify(model)
    assert isinstance(certificate, Certificate), certificate.reason
    assert certificate.dfa.num_states >= 3
    return model, certificate


def permutations(num_states: int, symbols: str, seed: int, groups: int | None = None) -> DFA:
    """A random automaton whose symbols permute its states; some read alike if `groups` are few."""
    random = np.random.default_rng(seed)
    moves = [random.permutation(num_states) for _ in range(groups or len(symbols))]
    return DFA(
        alphabet=tuple(symbols),
        transitions=np.array([moves[i % len(moves)] for i in range(len(symbols))]).T,
        outputs=tuple(random.random(num_states) < 0.5),
    )


def built_model(dfa: DFA, groups: int, temperature: float) -> Model:
    """An Elman network that is a permutation automaton, by construction.

    A unit for each pair of state and group of symbols fires when both are there; the centroid of a
    state has a 1 at all pairs that lead to it, as many for every state.
    """
    states, strength = dfa.num_states, 4.0
    pairs = [(state, group) for state in range(states) for group in range(groups)]
    model = random_model(
        symbols=dfa.alphabet,
        num_states=states,
        hidden_size=len(pairs),
        end_token=False,
        temperature=temperature,
        input_size=groups + 1,
    )
    into = np.zeros((states, len(pairs)))  # state pair
    for index, (state, group) in enumerate(pairs):
        into[dfa.transitions[state, group], index] = 1
    W = np.zeros((len(pairs), groups + 1))
    R = np.zeros((len(pairs), len(pairs)))
    for index, (state, group) in enumerate(pairs):
        W[index, group] = strength
        R[index] = strength * into[state] / groups
    W[int(into[dfa.initial].argmax()), groups] = 3 * strength  # the start token's
    E = np.zeros((FIRST_SYMBOL + len(dfa.alphabet), groups + 1))
    E[START, groups] = 1
    E[np.arange(len(dfa.alphabet)) + FIRST_SYMBOL, np.arange(len(dfa.alphabet)) % groups] = 1
    signs = np.where(dfa.outputs, 1, -1) @ into
    new = {
        "embedding.weight": E,
        "rnn.weight_ih_l0": W,
        "rnn.weight_hh_l0": R,
        "rnn.bias_ih_l0": np.full(len(pairs), -1.5 * strength),
        "rnn.bias_hh_l0": np.zeros(len(pairs)),
        "rnn.centroids_l0": into,
        "head.weight": np.stack([-signs, signs]),
        "head.bias": np.zeros(2),
    }
    weights = {name: torch.from_numpy(value).float() for name, value in new.items()}
    model.network.load_state_dict({**model.network.state_dict(), **weights})
    return model
