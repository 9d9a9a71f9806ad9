"""Encoded rows on disk: what is written comes back."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from kleene.data import examples as examples_module
from kleene.data import store as store_module
from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.data.layout import Example
from kleene.data.store import Store, encode, open_store
from kleene.errors import DataError


def draw(n: int = 233) -> list[tuple[str, str]]:
    random = np.random.default_rng(0)
    words = ["".join(random.choice([*"abc"], length)) for length in random.integers(0, 9, n)]
    return [(word, str(random.integers(2))) for word in words]


def write(path: Path, rows, **bound: int) -> Store:
    examples = (Example(word, label, i) for i, (word, label) in enumerate(rows, 1))
    encode(path, examples, tokens="chars", **bound)
    return open_store(path)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(store_module, "BATCH_ROWS", 16)
    return write(tmp_path / "store", draw())


def on_disk(store: Store) -> Examples:
    return Examples(words=store.words, labels=store.labels)


def in_memory() -> Examples:
    words, labels = zip(*draw(), strict=True)
    alphabet = Alphabet("abc")
    return Examples(words=alphabet.encode_many(words), labels=np.array(labels, dtype=np.int64))


def rows(examples: Examples) -> list[tuple[list[int], int]]:
    return [(w.tolist(), int(y)) for w, y in zip(examples.words, examples.labels, strict=True)]


@pytest.mark.parametrize("symbols", [3, 256, 257, 70_000])
def test_what_is_written_comes_back(tmp_path: Path, symbols: int) -> None:
    words = [(), tuple(range(symbols)), (symbols - 1, 0)]
    found = write(tmp_path / "s", zip(words, "010", strict=True))
    assert found.alphabet == Alphabet(range(symbols))
    assert rows(on_disk(found)) == [
        (found.alphabet.encode(word).tolist(), i % 2) for i, word in enumerate(words)
    ]
    assert (found.classes, found.tokens) == ((0, 1), "chars")
    assert found.longest == symbols
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    def broken():
        yield "ab", "x"
        raise DataError("line 6 is bad")

    with pytest.raises(DataError, match="line 6"):
        write(tmp_path / "s", broken())
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_whole_is_one_clear_error(store: Store, tmp_path: Path) -> None:
    content = (tmp_path / "store").read_bytes()
    for broken in (b"", content[:-9], content[: len(content) // 2], b"text" * 99):
        (tmp_path / "cut").write_bytes(broken)
        with pytest.raises(DataError, match="every process must see the folder"):
            open_store(tmp_path / "cut")


def test_rows_on_disk_are_those_in_memory(store: Store) -> None:
    one, two = on_disk(store), in_memory()
    assert np.array_equal(one.lengths, two.lengths)
    for seed, limit in [(0, None), (7, None), (7, 5), (3, 0)]:
        both = (examples.batches(8, seed=seed, limit=limit) for examples in (one, two))
        for mine, theirs in zip(*both, strict=True):
            assert np.array_equal(mine.tokens, theirs.tokens)
            assert np.array_equal(mine.labels, theirs.labels)
    for mine, theirs in zip(one.split(0.3, 4), two.split(0.3, 4), strict=True):
        assert rows(mine) == rows(theirs)
        assert rows(mine.split(0.5, 1)[1]) == rows(theirs.split(0.5, 1)[1])
    assert [row for part in one.parts() for row in rows(part)] == rows(two)
    assert rows(one.sample(0)) == rows(two)
    assert [word.tolist() for word in one.words[3:5]] == [w.tolist() for w in two.words[3:5]]
    assert one.hardest == two.hardest
    assert np.array_equal(one.class_counts(3), two.class_counts(3))


def test_what_is_taken_into_memory_is_bounded(store: Store, monkeypatch) -> None:
    monkeypatch.setattr(examples_module, "MAX_ROWS", 20)
    examples = on_disk(store)
    assert len(examples.sample(1)) == 20
    assert len(examples.split(0.5, 0)[1]) == 20
    monkeypatch.setattr(examples_module, "MAX_SYMBOLS", 100)
    assert examples.sample(1).lengths.sum() < 200
    sizes = [int(part.lengths.sum()) for part in examples.parts()]
    assert max(sizes) <= 100 + 8
    assert sum(sizes) == examples.lengths.sum()


@pytest.mark.parametrize("bound", [{}, {"max_symbols": 2}, {"min_count": 3}])
def test_one_pass_finds_the_alphabet_of_all_words(tmp_path: Path, bound: dict, monkeypatch) -> None:
    monkeypatch.setattr(store_module, "BATCH_ROWS", 2)
    words = [("b", "a"), (), ("c", "b", "b"), ("a",), ("a", "d", "b")]
    store = write(tmp_path / "s", zip(words, "01010", strict=True), **bound)
    expected = Alphabet.from_words(words, bound.get("max_symbols"), bound.get("min_count", 1))
    assert store.alphabet == expected
    assert [word.tolist() for word in store.words] == [expected.encode(w).tolist() for w in words]


def test_memory_is_a_few_bytes_a_row(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(store_module, "BATCH_ROWS", 256)

    def peak(count: int) -> int:
        tracemalloc.start()
        store = write(tmp_path / "s", ((f"{'ab' * 100}{i % 3}", str(i % 2)) for i in range(count)))
        for _ in on_disk(store).batches(8, seed=0):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(300)  # imports and caches
    assert peak(8000) - peak(2000) < 6000 * 100  # the words themselves have 201 symbols each
