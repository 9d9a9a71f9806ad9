"""Transition features against the trace of each word alone."""

import numpy as np
from toy_readers import ALPHABET, toy_model, toy_network, toy_words

from kleene.explain.explain import explain_many
from kleene.explain.features import features


def test_features_are_means_of_the_probabilities() -> None:
    network, words = toy_network(), toy_words()
    rows = features(network, ALPHABET.encode_many(words))
    assert rows.shape == (len(words), 4)
    for row, found in zip(rows, explain_many(toy_model(network), words), strict=True):
        if found.word:
            assert np.allclose(row, found.probs.mean(0), atol=1e-5)
    assert np.allclose(rows.sum(1), 1, atol=1e-5)  # the empty word's too
