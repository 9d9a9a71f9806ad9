"""Transition features: a word as the mean of its transition probabilities, one number a state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kleene.arrays import Floats, Ints
from kleene.data.batch import Encoded
from kleene.errors import DataError, SettingError
from kleene.explain.batched_traces import TracedBatch, batched_traces
from kleene.nn.classifier import Classifier

STATISTICS = ("mean", "max", "final")
LEVELS = 500
"""Words from which the brightness of the states is taken."""


def features(
    network: Classifier, encoded: Sequence[Encoded], *, statistics: Sequence[str] = ("mean",)
) -> Floats:
    """For every word, one block of k numbers a statistic, (word, statistics * k).

    "mean" is the mean of P over the word, (1/T) sum_t P_t; "max" its maximum, "final" its last
    row. The empty word has the probabilities after the start token.
    """
    if not statistics or any(name not in STATISTICS for name in statistics):
        got, known = ", ".join(map(repr, statistics)) or "nothing", ", ".join(STATISTICS)
        raise SettingError(f"statistics must be among {known}, got {got}")
    size = network.config.num_states * len(statistics)
    rows = np.zeros((len(encoded), size), np.float32)
    for traced in batched_traces(network, encoded):
        rows[traced.batch.order] = np.concatenate([_statistic(traced, s) for s in statistics], -1)
    return rows


def transition_maps(
    network: Classifier, encoded: Sequence[Encoded], labels: Ints | None = None
) -> Floats:
    """Mean transition probabilities by class, state and place in the word, (class, state, time).

    For images read pixel by pixel these are the paper's prototypes of the digits, once the last
    axis is given the shape of the images. All words must be of one length. Classes are those of
    `labels`, else the predicted ones; a class without words has zeros.
    """
    lengths = sorted({len(word) for word in encoded})
    if len(lengths) != 1:
        got = f"{len(lengths)}, from {lengths[0]} to {lengths[-1]}" if lengths else "no words"
        raise DataError(f"words must have one length, got {got}; give images of one size")
    sums = np.zeros((network.config.num_classes, lengths[0], network.config.num_states))
    counts = np.zeros(network.config.num_classes, np.int64)
    for traced in batched_traces(network, encoded):
        of = traced.predicted if labels is None else np.asarray(labels)[traced.batch.order]
        for label in np.unique(of):
            sums[label] += traced.probs[of == label, 1:].sum(0)
        counts += np.bincount(of, minlength=len(counts))
    means: Floats = (sums / np.maximum(counts, 1)[:, None, None]).astype(np.float32)
    return means.transpose(0, 2, 1)


def state_levels(network: Classifier, encoded: Sequence[Encoded]) -> Floats:
    """The brightness of each state, (state,), for words of single numbers.

    The sum of alpha_i level_i is closest to the input over all steps (least squares).
    """
    states = network.config.num_states
    gram, moments = np.zeros((states, states)), np.zeros(states)
    for traced in batched_traces(network, encoded):
        for row, word in enumerate(traced.batch.order):
            probs = traced.probs[row, 1 : 1 + len(encoded[word])].astype(np.float64)
            gram += probs.T @ probs
            moments += encoded[word][:, 0] @ probs
    levels: Floats = np.linalg.lstsq(gram, moments, rcond=1e-6)[0].astype(np.float32)
    return levels


def states_picture(network: Classifier, encoded: Sequence[Encoded], maps: Floats) -> Floats:
    """The picture that all states make together, (class, time), for words of single numbers.

    `maps` are the transition maps; how bright each state is follows from some of the words.
    """
    picture: Floats = np.einsum("cst,s->ct", maps, state_levels(network, encoded[:LEVELS]))
    return picture


def telling_states(maps: Floats) -> Ints:
    """States in the order in which their maps, (class, state, time), tell the classes apart."""
    order: Ints = np.argsort(-maps.std(0).mean(-1), kind="stable")
    return order


def _statistic(traced: TracedBatch, name: str) -> Floats:
    lengths = traced.batch.lengths
    if name == "final":
        last: Floats = traced.probs[np.arange(len(lengths)), lengths]
        return last
    inside = traced.probs[:, 1:] * traced.mask[:, :, None]
    if name == "mean":
        found = inside.sum(1) / np.maximum(lengths, 1)[:, None]
    else:
        found = inside.max(1, initial=0)
    return np.where(lengths[:, None] > 0, found, traced.probs[:, 0]).astype(np.float32)
