"""Transition features: a word as the mean of its transition probabilities, one number a state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kleene.arrays import Floats, Ints
from kleene.data.batch import Encoded
from kleene.errors import DataError, SettingError
from kleene.explain.batched_traces import Pass, passes
from kleene.nn.classifier import Classifier

STATISTICS = ("mean", "max", "final")


def features(
    network: Classifier, encoded: Sequence[Encoded], *, statistics: Sequence[str] = ("mean",)
) -> Floats:
    """For every word, one block of k numbers a statistic, (word, statistics * k).

    "mean" is the mean of P over the word, (1/T) sum_t P_t; "max" its maximum, "final" its last
    row. The empty word has the probabilities after the start token.
    """
    if not statistics or any(name not in STATISTICS for name in statistics):
        came, known = ", ".join(map(repr, statistics)) or "nothing", ", ".join(STATISTICS)
        raise SettingError(f"statistics {came} came, choose from {known}")
    size = network.config.num_states * len(statistics)
    rows = np.zeros((len(encoded), size), np.float32)
    for done in passes(network, encoded):
        rows[done.batch.order] = np.concatenate([_statistic(done, s) for s in statistics], -1)
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
        came = f"{len(lengths)} lengths, from {lengths[0]} to {lengths[-1]}," if lengths else "none"
        raise DataError(f"words of {came} came; maps need words of one length, images of one size")
    sums = np.zeros((network.config.num_classes, lengths[0], network.config.num_states))
    counts = np.zeros(network.config.num_classes, np.int64)
    for done in passes(network, encoded):
        of = done.predicted if labels is None else np.asarray(labels)[done.batch.order]
        for label in np.unique(of):
            sums[label] += done.probs[of == label, 1:].sum(0)
        counts += np.bincount(of, minlength=len(counts))
    means: Floats = (sums / np.maximum(counts, 1)[:, None, None]).astype(np.float32)
    return means.transpose(0, 2, 1)


def telling_states(maps: Floats) -> Ints:
    """States in the order in which their maps, (class, state, time), tell the classes apart."""
    order: Ints = np.argsort(-maps.std(0).mean(-1), kind="stable")
    return order


def _statistic(done: Pass, name: str) -> Floats:
    lengths = done.batch.lengths
    if name == "final":
        last: Floats = done.probs[np.arange(len(lengths)), lengths]
        return last
    inside = done.probs[:, 1:] * done.mask[:, :, None]
    if name == "mean":
        found = inside.sum(1) / np.maximum(lengths, 1)[:, None]
    else:
        found = inside.max(1, initial=0)
    return np.where(lengths[:, None] > 0, found, done.probs[:, 0]).astype(np.float32)
