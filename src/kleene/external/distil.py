"""A student of one's own: a state-regularised network taught the automaton of another network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from kleene.automata import DFA
from kleene.data.alphabet import Ids
from kleene.data.examples import Examples
from kleene.errors import TrainingError
from kleene.evaluation.metrics import evaluate
from kleene.external.network import ExternalNetwork
from kleene.induction.teach import consolidate
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.proof.certificate import Certificate, Refusal
from kleene.proof.certify import certify

WIDTH = 64


@dataclass(frozen=True, kw_only=True)
class Distillation:
    """The student, what is proved of it, and what is only measured."""

    model: Model
    certificate: Certificate | Refusal
    """That the student is the automaton on all words, or why that was not proved."""
    agreement: float
    """The share of held-out words that the student labels like the original network."""
    words: int
    """How many words that is measured on."""


def distil(
    network: ExternalNetwork, dfa: DFA, words: Sequence[Ids], labels: Sequence[int], *, seed: int
) -> Distillation:
    """Teach a memory-less network to be `dfa`, and compare it with the original's `labels`."""
    config = NetworkConfig(
        num_symbols=len(network.alphabet),
        num_classes=len(network.classes),
        cell="gru",
        input_size=WIDTH,
        hidden_size=WIDTH,
        num_states=dfa.num_states,
        similarity="euclidean",
        temperature=0.3,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        untrained = Classifier(config)
    model = Model(
        network=untrained,
        alphabet=network.alphabet,
        classes=network.classes,
        tokens="symbols",
        longest=network.longest,
    )
    examples = Examples(words=words, labels=np.asarray(labels, dtype=np.int64))
    taught, same = consolidate(model, dfa, examples, seed=seed)
    if not same:
        raise TrainingError(
            f"the student did not learn the automaton of {dfa.num_states} states; "
            "try another seed or a smaller automaton"
        )
    return Distillation(
        model=taught,
        certificate=certify(taught, dfa),
        agreement=evaluate(taught.network, examples).accuracy,
        words=len(words),
    )
