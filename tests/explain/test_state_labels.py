"""A state bears the name of a class only where it stands for one."""

from __future__ import annotations

import numpy as np
import torch
from toy_readers import CLASSES, toy_model, toy_network

from kleene.explain.traces import label_text, state_labels, state_scores


def test_the_last_state_of_a_memory_less_network_has_the_class_of_its_centroid() -> None:
    model = toy_model(cell="gru")
    classes = state_scores(model.network).argmax(-1)
    assert state_labels(model) == tuple(CLASSES[i] for i in classes)


def test_a_state_of_small_weight_is_neutral() -> None:
    network = toy_network(pooling="states")
    with torch.no_grad():
        network.head.weight.zero_()
        network.head.weight[1, 0] = 1.0  # the mean of state 0 speaks for the second class
        network.head.weight[0, 5] = 3.0  # the maximum of state 1 for the first, about as much
        network.head.weight[1, 2] = 0.05
    assert state_labels(toy_model(network)) == (CLASSES[1], CLASSES[0], None, None)
    assert label_text(None) == "-"
    network.typical[2, 0] = 0.5  # its symbols do not agree
    assert state_labels(toy_model(network)) == (None, CLASSES[0], None, None)


def test_an_opaque_state_is_named_only_if_its_words_agree() -> None:
    model = toy_model(pooling="max")
    classes = state_scores(model.network).argmax(-1).numpy()
    assert set(state_labels(model)) == {None}
    agree = np.where(classes[None] == np.arange(2)[:, None], 30, 10)
    assert state_labels(model, agree) == tuple(CLASSES[i] for i in classes)
    assert set(state_labels(model, 40 - agree)) == {None}
