"""Words that are vectors rather than symbols: packing, and a network that learns from them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_sequence

from kleene.data.batch import make_batch
from kleene.data.examples import Examples
from kleene.errors import DataError
from kleene.evaluation.metrics import evaluate
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.training.loop import fit
from kleene.training.run import Run
from kleene.training.stages import Stage


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.integers(1, 3))
def test_vectors_are_packed_as_torch_does(lengths: list[int], size: int) -> None:
    random = np.random.default_rng(0)
    words = [random.normal(size=(n, size)).astype(np.float32) for n in lengths]
    batch = make_batch(words)
    assert batch.tokens.dtype == np.float32
    full = [torch.from_numpy(words[i]) for i in batch.order if len(words[i])]
    if full:
        packed = pack_sequence(full)
        assert np.array_equal(batch.tokens, packed.data.numpy())
        assert batch.batch_sizes.tolist() == packed.batch_sizes.tolist()
    else:
        assert batch.tokens.shape == (0, size)


def test_words_of_one_kind_only() -> None:
    with pytest.raises(DataError, match=r"\(time, 1\), \(time, 2\)"):
        make_batch([np.zeros((3, 1), np.float32), np.zeros((3, 2), np.float32)])
    with pytest.raises(DataError, match="must all be"):
        make_batch([np.zeros((3, 1), np.float32), np.zeros(3, np.int64)])
    with pytest.raises(DataError, match="must all be"):
        make_batch([np.zeros((3, 1, 2), np.float32)])


def test_a_network_learns_from_vectors() -> None:
    random = np.random.default_rng(0)
    words = [random.random((int(n), 1)).astype(np.float32) for n in random.integers(5, 9, 200)]
    labels = np.array([int(word[-1, 0] > 0.5) for word in words])
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=0, num_classes=2, cell="lstm-p", input_size=1, hidden_size=16, num_states=4
    )
    network = Classifier(config)
    examples = Examples(words=words, labels=labels)
    fit(
        network,
        examples,
        stages=[Stage(epochs=60, learning_rate=2e-2, target=0.97)],
        run=Run(seed=0),
    )
    assert evaluate(network, examples).accuracy > 0.95
