"""Transition features: a word as the mean of its transition probabilities, one number a state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kleene.arrays import Floats, Ints
from kleene.data.batch import Encoded
from kleene.errors import DataError
from kleene.explain.traces import batched_traces
from kleene.nn.classifier import Classifier

MAX_WORDS = 500  # words from which the brightness of the states is taken


def features(network: Classifier, encoded: Sequence[Encoded]) -> Floats:
    """For every word the mean of P over its steps, (1/T) sum_t P_t, (word, state).

    The empty word has the probabilities after the start token.
    """
    rows = np.zeros((len(encoded), network.config.num_states), np.float32)
    for traced in batched_traces(network, encoded):
        lengths = traced.batch.lengths[:, None]
        sums = (traced.probs[:, 1:] * traced.mask[:, :, None]).sum(1)
        means = np.where(lengths > 0, sums / np.maximum(lengths, 1), traced.probs[:, 0])
        rows[traced.batch.order] = means
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


def states_picture(network: Classifier, encoded: Sequence[Encoded], maps: Floats) -> Floats:
    """The picture that all states make together, (class, time), for words of single numbers.

    `maps` are the transition maps. Each state is as bright as makes the sum of alpha_i level_i
    closest to the input (least squares over some words).
    """
    states = network.config.num_states
    gram, moments = np.zeros((states, states)), np.zeros(states)
    for traced in batched_traces(network, encoded[:MAX_WORDS]):
        for row, word in enumerate(traced.batch.order):
            probs = traced.probs[row, 1 : 1 + len(encoded[word])].astype(np.float64)
            gram += probs.T @ probs
            moments += encoded[word][:, 0] @ probs
    levels = np.linalg.lstsq(gram, moments, rcond=1e-6)[0].astype(np.float32)
    picture: Floats = np.einsum("cst,s->ct", maps, levels)
    return picture


def telling_states(maps: Floats) -> Ints:
    """States in the order in which their maps, (class, state, time), tell the classes apart."""
    order: Ints = np.argsort(-maps.std(0).mean(-1), kind="stable")
    return order
