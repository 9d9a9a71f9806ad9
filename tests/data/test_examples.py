"""Examples: no word is lost or mixed up on the way into batches and parts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kleene.data.batch import Batch
from kleene.data.examples import Examples
from kleene.errors import DataError

rows = st.lists(st.tuples(st.lists(st.integers(4, 6), max_size=6), st.integers(0, 2)), max_size=30)


def make(rows: list[tuple[list[int], int]], keyed: bool = False) -> Examples:
    return Examples(
        words=[np.array(word, dtype=np.int64) for word, _ in rows],
        labels=np.array([label for _, label in rows], dtype=np.int64),
        keys=np.array([sum(word) for word, _ in rows], dtype=np.int64) if keyed else None,
    )


def unpack(batch: Batch) -> list[tuple[tuple[int, ...], int]]:
    starts = np.cumsum(batch.batch_sizes) - batch.batch_sizes
    return [
        (tuple(batch.tokens[starts[:length] + row].tolist()), int(label))
        for row, (length, label) in enumerate(zip(batch.lengths, batch.labels, strict=True))
    ]


def counted(pairs) -> Counter:
    return Counter((tuple(word), int(label)) for word, label in pairs)


@given(rows, st.integers(1, 7), st.integers(0, 3))
def test_an_epoch_holds_every_word_once_with_its_label(rows, size, seed) -> None:
    examples = make(rows)
    for batches in (examples.batches(size, seed=seed), examples.in_order(size)):
        assert sum((counted(unpack(batch)) for batch in batches), Counter()) == counted(rows)


@given(rows, st.integers(0, 30), st.booleans())
def test_a_limit_admits_the_words_up_to_it(rows, limit, keyed) -> None:
    examples = make(rows, keyed)
    found = sum(
        (counted(unpack(batch)) for batch in examples.batches(4, seed=0, limit=limit)), Counter()
    )
    key = sum if keyed else len
    assert found == counted((word, label) for word, label in rows if key(word) <= limit)


@given(rows, st.integers(0, 3))
def test_a_plan_is_the_same_for_the_same_seed(rows, seed) -> None:
    plans = [make(rows).plan(3, seed=seed) for _ in range(2)]
    assert [p.tolist() for p in plans[0]] == [p.tolist() for p in plans[1]]


@given(rows, st.floats(0, 1), st.integers(0, 3), st.booleans())
def test_a_split_keeps_every_word_and_the_share_of_each_class(rows, share, seed, keyed) -> None:
    examples = make(rows, keyed)
    parts = examples.split(share, seed)
    together = sum((counted(zip(p.words, p.labels, strict=True)) for p in parts), Counter())
    assert together == counted(rows)
    for label in {label for _, label in rows}:
        members = sum(other == label for _, other in rows)
        wanted = min(share * members, members - 1)  # one stays in the first part
        assert abs((parts[1].labels == label).sum() - wanted) <= 0.5
    if keyed:
        for part in parts:
            assert part.keys.tolist() == [sum(word.tolist()) for word in part.words]


def test_seeds_split_differently() -> None:
    examples = make([([4] * n, 0) for n in range(40)])
    first, again, other = (examples.split(0.5, seed)[1].lengths.tolist() for seed in (0, 0, 1))
    assert first == again != other


def test_evaluation_goes_from_short_to_long() -> None:
    examples = make([([4] * n, 0) for n in (3, 0, 2, 1)])
    assert [batch.lengths.tolist() for batch in examples.in_order(1)] == [[0], [1], [2], [3]]


def test_words_and_labels_come_in_pairs() -> None:
    with pytest.raises(DataError, match=r"one label per word .1., got 2"):
        Examples(words=[np.array([4])], labels=np.array([0, 1]))
