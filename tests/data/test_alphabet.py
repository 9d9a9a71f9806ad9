"""Ids and back, for every kind of symbol."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kleene.data.alphabet import END, PAD, START, UNKNOWN, Alphabet
from kleene.errors import AlphabetError

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
symbols = st.recursive(
    scalars | st.text(st.characters(codec=None, exclude_categories=()), max_size=3),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)
any_text = st.text(st.characters(exclude_categories=()))


@given(st.lists(symbols, unique=True))
def test_json_round_trip(listed) -> None:
    alphabet = Alphabet(listed)
    loaded = Alphabet.from_json(alphabet.to_json())
    assert loaded == alphabet
    assert list(map(type, loaded.symbols)) == list(map(type, listed))


@given(st.lists(symbols, unique=True), st.lists(symbols))
def test_encodes_as_a_dictionary_would(listed, word) -> None:
    alphabet = Alphabet(listed)
    ids = alphabet.encode(word)
    assert ids.dtype == np.int64
    assert ids.tolist() == [4 + listed.index(s) if s in listed else UNKNOWN for s in word]
    assert alphabet.unknown(word) == [s for s in word if s not in listed]
    assert alphabet.decode(ids) == tuple(s if s in listed else "<unknown>" for s in word)


@given(st.lists(any_text), any_text)
def test_strings_take_the_same_ids_as_lists_of_characters(words, known) -> None:
    alphabet = Alphabet.from_words([known])
    fast = alphabet.encode_many(words)
    slow = alphabet.encode_many([tuple(word) for word in words])
    assert [ids.tolist() for ids in fast] == [ids.tolist() for ids in slow]
    assert list(map(len, fast)) == list(map(len, words))


def test_special_ids_belong_to_no_symbol() -> None:
    alphabet = Alphabet(["<pad>", "a"])
    assert (PAD, UNKNOWN, START, END) == (0, 1, 2, 3)
    assert alphabet.encode(["<pad>", "a", "<start>"]).tolist() == [4, 5, UNKNOWN]
    assert len(alphabet) == 6


def test_numbers_of_numpy_are_plain_numbers() -> None:
    alphabet = Alphabet.from_words([np.array([3, 1]), np.array([2])])
    assert alphabet.symbols == (1, 2, 3)
    assert alphabet.encode(np.array([2, 9])).tolist() == [5, UNKNOWN]
    assert (
        Alphabet(np.array([3, 1]))
        == Alphabet([3, 1])
        == Alphabet.from_json(Alphabet(np.array([3, 1])).to_json())
    )


def test_order_is_sorted_or_by_frequency() -> None:
    words = ["cabb", "cc", "d"]
    assert Alphabet.from_words(words).symbols == ("a", "b", "c", "d")
    assert Alphabet.from_words(words, min_count=2).symbols == ("c", "b")
    assert Alphabet.from_words(words, max_size=3).symbols == ("c", "b", "a")
    assert Alphabet.from_words([["b", 1], ["a"]]).symbols == ("b", 1, "a")
    assert Alphabet.from_words([[("b", 1), ("a", None)], [("a", 2)]]).symbols[0] == ("b", 1)
    assert Alphabet.from_words([]).symbols == ()


@pytest.mark.parametrize("word", [["a", ["b"]], [{}], np.zeros((2, 2))])
def test_unhashable_symbols_are_named(word) -> None:
    with pytest.raises(AlphabetError, match="not hashable; use a tuple"):
        Alphabet("ab").encode(word)
    with pytest.raises(AlphabetError, match="not hashable; use a tuple"):
        Alphabet.from_words([word])
    with pytest.raises(AlphabetError, match="not hashable; use a tuple"):
        Alphabet(list(word))


def test_other_mistakes_are_named() -> None:
    with pytest.raises(AlphabetError, match="'a' twice"):
        Alphabet("aba")
    with pytest.raises(AlphabetError, match="got int 7"):
        Alphabet("ab").encode(7)
    for wrong in (6, -1):
        with pytest.raises(AlphabetError, match="between 0 and 5"):
            Alphabet("ab").decode([4, wrong])


@pytest.mark.parametrize("symbol", [object(), b"x", float("inf"), ("a", b"x")])
def test_symbols_without_json_form_fail_only_when_saved(symbol) -> None:
    alphabet = Alphabet([symbol])
    assert alphabet.encode([symbol]).tolist() == [4]
    with pytest.raises(AlphabetError, match="cannot save the symbol"):
        alphabet.to_json()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1",
        "[]",
        "{}",
        '{"format": "kleene.alphabet/2", "symbols": []}',
        '{"format": "kleene.alphabet/1"}',
        '{"format": "kleene.alphabet/1", "symbols": ["a", "a"]}',
        '{"format": "kleene.alphabet/1", "symbols": [{}]}',
        '{"format": "kleene.alphabet/1", "symbols": [NaN]}',
        "[" * 100_000,
    ],
)
def test_damaged_json_is_one_clear_error(text) -> None:
    with pytest.raises(AlphabetError):
        Alphabet.from_json(text)


def test_columns_and_ids_are_each_others_inverse() -> None:
    alphabet = Alphabet("abc")
    columns = np.arange(len(alphabet.symbols))
    assert alphabet.decode(alphabet.ids(columns)) == alphabet.symbols
    assert alphabet.columns(alphabet.encode("cab")).tolist() == [2, 0, 1]
    assert Alphabet.columns(Alphabet.ids(7)) == 7
