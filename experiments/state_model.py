"""The network over its own states, for texts that a memory-less network classifies by its states.

With `pooling="states"` a memory-less network in hard mode is a finite automaton over words, and its
scores follow from how often the automaton visits each state. `state_model` is the same network with
another head: its answer is the state after the last word. Its table is the automaton, and its
certificate says in which state the network is after every prefix of every text.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from kleene.errors import ExtractionError
from kleene.extraction.table import transition_table
from kleene.model import Model
from kleene.nn.classifier import Classifier


def state_model(model: Model) -> Model:
    """The network whose class is its state: the number of the nearest centroid."""
    config = model.network.config
    if config.pooling != "states" or config.cell_object.has_memory or config.num_layers > 1:
        raise ExtractionError(
            "needs pooling='states' and one layer without memory, got "
            f"pooling={config.pooling!r}, cell={config.cell!r}, layers={config.num_layers}; "
            "train with cell='gru', pooling='states'"
        )
    states = replace(
        config, pooling="last", end_token=False, num_classes=config.num_states, dropout=0.0
    )
    network = Classifier(states)
    weights = {
        name: weight
        for name, weight in model.network.state_dict().items()
        if name.startswith(("embedding", "rnn"))
    }
    centroids = model.network.rnn.centroids(0).detach()
    weights["head.weight"] = centroids  # |h - s|^2 is least where h.s - |s|^2 / 2 is greatest
    weights["head.bias"] = -centroids.square().sum(-1) / 2
    network.load_state_dict(weights)
    network.eval()
    return replace(model, network=network, classes=tuple(range(config.num_states)))


def clear_transitions(model: Model, margin: float = 0.01) -> int:
    """Give words whose next state is a close call the vector of a word with clear transitions.

    A close call has log-odds below `margin` against another state, from some state. The vector is
    that of the nearest word that leads from every state to where the word does, or where there is
    none, from most states. Returns how many words were changed.
    """
    network = model.network
    table = transition_table(state_model(model))
    assert table.probs is not None, "the table is too large to look at"
    best = np.sort(np.log(np.maximum(table.probs, 1e-30)), -1)
    clear = (best[..., -1] - best[..., -2]).min(0) >= margin  # symbol
    moves = table.dfa.transitions  # state symbol
    vectors = network.embedding.weight.detach()[-moves.shape[1] :]
    clear_columns = np.flatnonzero(clear)
    if not len(clear_columns):
        return 0
    for column in np.flatnonzero(~clear):
        same = (moves[:, clear_columns] == moves[:, [column]]).sum(0)
        candidates = clear_columns[same == same.max()]
        gaps = (vectors[candidates] - vectors[column]).square().sum(-1)
        with torch.no_grad():
            vectors[column] = vectors[candidates[int(gaps.argmin())]]
    return int((~clear).sum())
