"""PPMI embeddings: counts as by hand, near vectors for symbols of the same contexts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kleene.data.batch import make_batch
from kleene.data.examples import Examples
from kleene.errors import SettingError
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.training.texts import embeddings as vectors
from kleene.training.texts.embeddings import (
    WINDOW,
    init_ppmi_embeddings,
    neighbours,
    pairs,
    ppmi_embeddings,
)


def examples(words: list[list[int]]) -> Examples:
    return Examples(
        words=[np.array(word, np.int64) for word in words], labels=np.zeros(len(words), np.int64)
    )


@given(words=st.lists(st.lists(st.integers(4, 9), max_size=12), min_size=1, max_size=6))
def test_pairs_are_those_of_every_word(words: list[list[int]]) -> None:
    found = [
        tuple(pair) for part in pairs(make_batch(examples(words).words)) for pair in part.T.tolist()
    ]
    expected = [
        (word[i], word[j])
        for word in words
        for i in range(len(word))
        for j in range(i + 1, min(i + WINDOW + 1, len(word)))
    ]
    assert sorted(found) == sorted(expected)


def test_counts_do_not_depend_on_how_many_pairs_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    given = examples(np.random.default_rng(0).integers(4, 9, (600, 9)).tolist())
    whole = neighbours(given, 9, 0).toarray()
    monkeypatch.setattr(vectors, "MAX_PAIRS", 100)
    assert (neighbours(given, 9, 0).toarray() == whole).all()
    assert whole.sum() == 600 * sum(9 - d for d in range(1, WINDOW + 1))


def texts() -> Examples:
    """Symbols 4 and 5 share one context, 6 and 7 another; 10 never occurs."""
    rng = np.random.default_rng(0)
    words = []
    for _ in range(400):
        one = rng.integers(2)
        words.append([int(s) for s in rng.permutation([4 + rng.integers(2) + 2 * one, 8 + one])])
    return examples(words)


def test_symbols_of_the_same_contexts_lie_near() -> None:
    found = ppmi_embeddings(texts(), 11, 4, seed=0)
    near, far = np.linalg.norm(found[4] - found[5]), np.linalg.norm(found[4] - found[6])
    assert near < far / 3
    assert not found[[0, 1, 2, 3, 10]].any()
    assert np.sqrt((found[4:10] ** 2).mean()) == pytest.approx(vectors.DEVIATION, rel=1e-3)


def test_a_network_begins_with_them_and_the_same_seed_gives_the_same() -> None:
    def seeded() -> torch.Tensor:
        torch.manual_seed(0)
        config = NetworkConfig(num_symbols=11, num_classes=2, input_size=4, hidden_size=3)
        network = Classifier(config)
        init_ppmi_embeddings(network, texts(), seed=1)
        after = network.embedding.weight.detach()
        assert not after[[0, 1, 2, 3, 10]].any()
        assert after[4:10].any(1).all()
        return after

    assert torch.equal(seeded(), seeded())


@pytest.mark.parametrize("words", [[[]], [[4]], [[4, 4]]], ids=["empty", "alone", "itself"])
def test_too_little_text_gives_zeros(words: list[list[int]]) -> None:
    config = NetworkConfig(num_symbols=6, num_classes=2, input_size=8, hidden_size=3)
    network = Classifier(config)
    init_ppmi_embeddings(network, examples(words), seed=0)
    assert torch.isfinite(network.embedding.weight).all()
    assert not network.embedding.weight[5].any()


def test_many_symbols_without_neighbours_are_zeros() -> None:
    rng = np.random.default_rng(0)
    found = ppmi_embeddings(examples(rng.integers(4, 30, (200, 12)).tolist()), 60, 40, seed=0)
    assert not found[:4].any()
    assert not found[30:].any()
    assert found[4:30].any(1).all()


def test_a_network_that_reads_vectors_has_no_symbols() -> None:
    network = Classifier(NetworkConfig(num_symbols=0, num_classes=2, input_size=4, hidden_size=3))
    with pytest.raises(SettingError, match="network over symbols"):
        init_ppmi_embeddings(network, texts(), seed=0)


def test_the_same_seed_gives_the_same_vectors_at_the_full_rank() -> None:
    """ARPACK would go on from vectors of its own choice where the table has no more to give."""
    words = examples(np.random.default_rng(0).integers(4, 40, (60, 9)).tolist())
    first, *others = (ppmi_embeddings(words, 48, 100, 0) for _ in range(6))
    assert first.shape == (48, 47)
    for other in others:
        np.testing.assert_array_equal(first, other)
