"""Packing against torch's own, and batches that lose no word."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_sequence

from kleene.data.batch import batches, make_batch
from kleene.errors import DataError, SettingError

words = st.lists(st.lists(st.integers(4, 99), max_size=12), max_size=12)


def encode(rows: list[list[int]]) -> list[np.ndarray]:
    return [np.array(row, dtype=np.int64) for row in rows]


@given(words)
def test_packs_as_torch_does(rows: list[list[int]]) -> None:
    batch = make_batch(encode(rows))
    full = [torch.tensor(rows[i]) for i in batch.order if rows[i]]
    if full:
        packed = pack_sequence(full)
        assert batch.tokens.tolist() == packed.data.tolist()
        assert batch.batch_sizes.tolist() == packed.batch_sizes.tolist()
    else:
        assert len(batch.tokens) == len(batch.batch_sizes) == 0
    assert len(batch) == len(rows)
    assert sorted(batch.order.tolist()) == list(range(len(rows)))
    assert batch.lengths.tolist() == sorted(map(len, rows), reverse=True)
    assert {array.dtype for array in (batch.tokens, batch.batch_sizes, batch.lengths)} == {
        np.dtype("int64")
    }


@given(words, st.randoms())
def test_a_chosen_order_names_rows_of_the_given_list(rows: list[list[int]], random) -> None:
    chosen = random.sample(range(len(rows)), len(rows) // 2)
    labels = [sum(row) for row in rows]
    batch = make_batch(encode(rows), labels, order=chosen)
    assert sorted(batch.order.tolist()) == sorted(chosen)
    starts = np.cumsum(batch.batch_sizes) - batch.batch_sizes
    for r, (i, length, label) in enumerate(
        zip(batch.order, batch.lengths, batch.labels, strict=True)
    ):
        assert batch.tokens[starts[:length] + r].tolist() == rows[i]
        assert label == sum(rows[i])


def test_labels_must_match_the_words() -> None:
    with pytest.raises(DataError, match=r"one label per word .2., got 1"):
        make_batch(encode([[4], [5]]), [0])


@given(
    st.lists(st.integers(0, 9), max_size=60), st.integers(1, 9), st.integers(0, 5), st.booleans()
)
def test_batches_partition_the_words(lengths, batch_size, seed, shuffle) -> None:
    split = batches(np.array(lengths), batch_size, seed=seed, shuffle=shuffle)
    assert sorted(i for part in split for i in part) == list(range(len(lengths)))
    assert all(1 <= len(part) <= batch_size for part in split)
    again = batches(np.array(lengths), batch_size, seed=seed, shuffle=shuffle)
    assert all(np.array_equal(a, b) for a, b in zip(split, again, strict=True))
    ranges = sorted((min(found), max(found)) for found in ([lengths[i] for i in p] for p in split))
    assert all(high <= low for (_, high), (low, _) in pairwise(ranges))


def test_seeds_deal_differently_and_batches_come_in_random_order() -> None:
    lengths = np.repeat(np.arange(10), 20)
    first, second = (batches(lengths, 10, seed=seed) for seed in (0, 1))
    assert any(set(a) != set(b) for a, b in zip(first, second, strict=True))
    means = [lengths[part].mean() for part in first]
    assert means != sorted(means)


def test_a_batch_size_below_one_is_refused() -> None:
    with pytest.raises(SettingError, match="batch_size must be >= 1, got 0"):
        batches(np.array([1, 2]), 0, seed=0)
