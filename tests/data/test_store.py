"""Encoded words on disk: what is written comes back, and nothing that was broken does."""

from __future__ import annotations

import weakref
from pathlib import Path

import numpy as np
import pytest

from kleene.data import store as store_module
from kleene.data.alphabet import Alphabet
from kleene.data.batch import make_batch
from kleene.data.examples import Examples
from kleene.data.store import Block, Store, open_store, write_store
from kleene.data.streaming import Streamed, bounded_share
from kleene.errors import DataError

ALPHABET = Alphabet("abc")


def draw(n: int, seed: int = 0) -> list[tuple[np.ndarray, int]]:
    random = np.random.default_rng(seed)
    lengths = random.integers(0, 9, n)
    return [(random.integers(1, 7, length), int(random.integers(2))) for length in lengths]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """233 words in blocks of at most 16 words or 40 symbols."""
    monkeypatch.setattr(store_module, "BLOCK_WORDS", 16)
    monkeypatch.setattr(store_module, "BLOCK_SYMBOLS", 40)
    return write(tmp_path / "store", draw(233))


def write(path: Path, examples, alphabet: Alphabet = ALPHABET) -> Store:
    about = {"alphabet": alphabet, "classes": (False, True), "tokens": "chars", "key": "k"}
    return write_store(path, iter(examples), **about)


def in_memory(n: int = 233) -> Examples:
    words, labels = zip(*draw(n), strict=True)
    return Examples(words=words, labels=np.array(labels))


def rows(batch) -> list[tuple[int, ...]]:
    """The words of a batch, unpacked."""
    starts = np.cumsum(batch.batch_sizes) - batch.batch_sizes
    return [
        tuple(batch.tokens[starts[:length] + row].tolist())
        for row, length in enumerate(batch.lengths)
    ]


@pytest.mark.parametrize("symbols", [3, 70_000])
def test_what_is_written_comes_back(tmp_path: Path, symbols: int) -> None:
    examples = [*draw(50), (np.array([4, symbols + 3]), 1)]
    found = write(tmp_path / "s", examples, Alphabet(range(symbols)))
    assert len(found) == 51
    assert found.classes == (False, True)
    assert found.alphabet == Alphabet(range(symbols))
    assert found.longest == max(len(word) for word, _ in examples)
    assert found.symbols == sum(len(word) for word, _ in examples)
    block = found.block(0)
    for i, (word, label) in enumerate(examples):
        assert block.word(i).tolist() == word.tolist()
        assert block.labels[i] == label
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_blocks_are_small_and_hold_all_words_in_order(store: Store) -> None:
    assert (store.index[:, 1] <= 16).all()
    assert (store.index[:, 2] <= 40 + 8).all()
    words = [w.tolist() for part in Streamed(store=store).parts() for w in part.words]
    assert words == [word.tolist() for word, _ in draw(233)]


def test_cut_anywhere_it_is_one_clear_error(store: Store) -> None:
    content = store.path.read_bytes()
    for cut in {*range(40), *np.linspace(0, len(content) - 1, 80).astype(int).tolist()}:
        store.path.write_bytes(content[:cut])
        with pytest.raises(DataError, match="delete it"):
            open_store(store.path)


def test_a_changed_byte_is_never_taken_for_a_word(store: Store) -> None:
    content = store.path.read_bytes()
    expected = [(w.tolist(), label) for w, label in draw(233)]
    for at in np.random.default_rng(0).integers(0, len(content), 200).tolist():
        changed = bytearray(content)
        changed[at] ^= 1 << (at % 8)
        store.path.write_bytes(changed)
        try:
            parts = list(Streamed(store=open_store(store.path)).parts())
        except DataError:
            continue
        found = [(w.tolist(), y) for p in parts for w, y in zip(p.words, p.labels, strict=True)]
        assert found == expected  # the byte was of the magic line, the key or a symbol's name


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    def broken():
        yield from draw(5)
        raise DataError("line 6 is bad")

    with pytest.raises(DataError, match="line 6"):
        write(tmp_path / "s", broken())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("window", [3, 1000])
def test_an_epoch_shows_every_word_once(store: Store, share: float, window: int) -> None:
    streamed = Streamed(store=store, share=share, seed=4, window=window)
    shown = [row for batch in streamed.batches(8, seed=1) for row in rows(batch)]
    held = streamed.held_out()
    away = [] if held is None else [tuple(word.tolist()) for word in held.words]
    assert len(away) == int(share * 233)
    assert len(shown) == len(streamed) == 233 - len(away)
    assert sorted(shown + away) == sorted(tuple(word.tolist()) for word, _ in draw(233))
    assert all(len(order) <= 8 for order in streamed.plan(8, seed=1))


def test_one_window_is_dealt_out_as_in_memory(store: Store) -> None:
    streamed, examples = Streamed(store=store, window=1000), in_memory()
    for seed, limit in [(0, None), (7, None), (7, 5), (3, 0)]:
        mine = streamed.plan(8, seed=seed, limit=limit)
        theirs = examples.plan(8, seed=seed, limit=limit)
        assert len(mine) == len(theirs)
        for one, two in zip(mine, theirs, strict=True):
            assert np.array_equal(one, two)
            batch, expected = streamed.batch(one), make_batch(examples.words, examples.labels, two)
            assert np.array_equal(batch.tokens, expected.tokens)
            assert np.array_equal(batch.labels, expected.labels)
    assert np.array_equal(streamed.easiest(20), examples.easiest(20))
    assert streamed.hardest == examples.hardest
    assert np.array_equal(streamed.class_counts(3), examples.class_counts(3))


def test_an_epoch_can_be_entered_anywhere(store: Store) -> None:
    whole = list(Streamed(store=store, window=3).plan(8, seed=5))
    plan = Streamed(store=store, window=3).plan(8, seed=5)
    for step in np.random.default_rng(0).permutation(len(whole)).tolist():
        assert np.array_equal(plan[step], whole[step])
    assert np.array_equal(plan[-1], whole[-1])
    with pytest.raises(IndexError):
        plan[len(plan)]
    other = list(Streamed(store=store, window=3).plan(8, seed=6))
    assert any(not np.array_equal(a, b) for a, b in zip(whole, other, strict=False))


def test_no_more_than_a_window_is_in_memory(store: Store, monkeypatch) -> None:
    read = []
    block = Store.block

    def watched(self: Store, number: int) -> Block:
        found = block(self, number)
        read.append(weakref.ref(found))
        return found

    monkeypatch.setattr(Store, "block", watched)
    for batch in Streamed(store=store, window=3).batches(4, seed=0):
        assert len(batch)
        assert sum(reference() is not None for reference in read) <= 3
    assert len(read) < 3 * len(store.index)  # about once each, not once a batch


def test_what_is_taken_into_memory_is_bounded(store: Store, monkeypatch) -> None:
    from kleene.data import streaming as module

    assert bounded_share(store, 0.1) == 0.1
    assert len(Streamed(store=store).sample()) == 233
    monkeypatch.setattr(module, "MOST_HELD", 20)
    assert len(Streamed(store=store).sample()) == 20
    monkeypatch.setattr(module, "MOST_SAMPLED", store.symbols // 50)
    assert len(Streamed(store=store).sample()) == int(233 * (store.symbols // 50) / store.symbols)
