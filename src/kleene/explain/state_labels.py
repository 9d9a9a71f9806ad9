"""The class that a state stands for, where it stands for one.

Where the last state alone decides, it is the class of its centroid. Where states have weights
(`pooling="states"`), it is the class its weight speaks for, and none if the weight is small or if
the symbols that lead there do not agree: such a state carries the tone of what was said before. In
any other network a memory or a maximum decides beside the state: then a state is named only if the
words that visit it agree with the class of its centroid.
"""

from __future__ import annotations

import numpy as np
import torch

from kleene.arrays import Floats, Ints
from kleene.explain.markup import as_text
from kleene.explain.scoring import state_scores
from kleene.machine import Label
from kleene.model import Model
from kleene.nn.state_weights import adds_up, lead

NEUTRAL = 0.1
"""A state is neutral if its lead is smaller than this share of the greatest of all states."""
AGREEMENT = 0.8
"""The least share of a state's symbols that are commoner in words of its class."""
UNNAMED = "-"


def state_labels(model: Model, visits: Ints | None = None) -> tuple[Label | None, ...]:
    """The class of each state; None for those that stand for none.

    `visits` counts the steps in each state over words predicted as each class, (class, state).
    """
    network = model.network
    scores = state_scores(network)
    classes = scores.argmax(-1)
    if adds_up(network):
        leads = lead(scores, classes)
        agrees = network.typical[2] >= AGREEMENT
        named = ((leads >= NEUTRAL * leads.max()) & agrees).cpu().numpy()
    elif _state_decides(model):
        named = np.ones(len(scores), bool)
    elif visits is None:
        named = np.zeros(len(scores), bool)
    else:
        shares = visits / np.maximum(visits.sum(1, keepdims=True), 1)
        named = shares.argmax(0) == classes.cpu().numpy()
    return tuple(
        model.classes[i] if one else None
        for i, one in zip(classes.tolist(), named.tolist(), strict=True)
    )


def state_leads(model: Model) -> Floats | None:
    """The weight of each state for each class against the others, (state, class).

    None where states have no weights of their own.
    """
    if not adds_up(model.network):
        return None
    scores = state_scores(model.network)
    columns = [
        lead(scores, torch.full((len(scores),), i, device=scores.device))
        for i in range(len(model.classes))
    ]
    return torch.stack(columns, -1).float().cpu().numpy()


def label_text(label: Label | None) -> str:
    """A label as it is shown; a dash for a state that stands for no class."""
    return UNNAMED if label is None else as_text(label)


def _state_decides(model: Model) -> bool:
    rnn = model.network.rnn
    last = model.network.config.pooling == "last" and rnn.num_layers == 1
    return last and not rnn.cell.has_memory
