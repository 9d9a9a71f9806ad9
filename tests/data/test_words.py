"""From texts, lists and numbers to words and labels; the tokenizer, in English and elsewhere."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kleene.data.bins import Bins
from kleene.data.words import as_word, json_word, tokenize, typed_labels
from kleene.errors import DataError


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("  \n\t ", []),
        ("Great!", ["great", "!"]),
        ("a<br /><br />b<BR>c", ["a", "b", "c"]),
        ("don't 'quote' it's", ["don't", "'", "quote", "'", "it's"]),
        ("it’s", ["it's"]),
        ("wait... 8/10 (top-notch)", ["wait", "...", *"8/", "10", "(", "top", "-", "notch", ")"]),
        ("_so_ good__", ["_", "so", "_", "good", "_", "_"]),
        ("Привет, мир! Ёж", ["привет", ",", "мир", "!", "ёж"]),
        ("हिन्दी में।", ["हिन्दी", "में", "।"]),
        ("映画が好き。Good", [*"映画が好き。", "good"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("ok 👍", ["ok", "👍"]),
    ],
)
def test_words_and_marks_stand_apart(text: str, tokens: list[str]) -> None:
    assert list(tokenize(text)) == tokens


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_the_fast_way_for_ascii_is_the_general_way(text: str) -> None:
    outside = tokenize(f"{text} é")  # any other letter takes the general way
    assert outside == (*tokenize(text), "é")


@given(st.text())
def test_nothing_but_white_space_is_lost(text: str) -> None:
    joined = "".join(tokenize(text))
    assert not re.search(r"\s", joined)
    letters = [c for c in text if c.isascii() and c.isalnum()]
    if "<" not in text:
        kept = [c for c in joined if c.isascii() and c.isalnum()]
        assert len(kept) >= len(letters)


def test_a_long_document_is_no_trouble() -> None:
    assert len(tokenize("word, " * 50_000)) == 100_000
    assert len(tokenize("a" * 1_000_000)) == 1
    assert len(tokenize("é' " * 20_000)) == 40_000


def test_three_ways_to_split_a_text() -> None:
    assert as_word("Not bad!", "chars") == "Not bad!"
    assert as_word("Not bad!", "words") == ("Not", "bad!")
    assert as_word("Not bad!", "text") == ("not", "bad", "!")
    assert as_word(("Not", "bad!"), "text") == ("Not", "bad!")


@pytest.mark.parametrize(
    ("value", "tokens", "word"),
    [
        ("a b", "symbols", ("a", "b")),
        ('["a", 1, [2, null]]', "symbols", ("a", 1, (2, None))),
        ("[1] 2", "words", ("[1]", "2")),
        (("a", "b"), "chars", "ab"),
        (("ab", "c"), "chars", ("ab", "c")),
    ],
)
def test_typed_texts(value: object, tokens: str, word: object) -> None:
    assert as_word(value, tokens, typed=True) == word


def test_a_string_in_python_is_a_sequence_of_characters() -> None:
    assert as_word("a b", "symbols") == "a b"


def test_numbers_become_bins_and_symbols_stay() -> None:
    bins = Bins.parse("2").fit([[1.0, 2.0, 3.0, 4.0]])
    low, high = bins.symbols([1.0, 4.0])
    for value in ("1 4", [1, 4.0], (1, 4)):
        assert as_word(value, "symbols", bins) == (low, high)
    assert as_word((low, high), "symbols", bins) == (low, high)
    with pytest.raises(DataError, match="finite numbers"):
        as_word(["x"], "symbols", bins, typed=True)


@pytest.mark.parametrize(
    "value", [7, None, {"a": 1}, [{}], [float("nan")], [float("inf")], "[", "[" * 5000]
)
def test_what_is_no_word_is_refused(value: object) -> None:
    with pytest.raises(DataError):
        as_word(json_word(value), "symbols", typed=True)


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["1", "0"], [1, 0]),
        (["01", "1"], ["01", "1"]),
        (["0.5", "1"], [0.5, 1.0]),
        (["1.0", "2.0"], ["1.0", "2.0"]),
        (["True", "False"], [True, False]),
        (["yes", "1"], ["yes", "1"]),
        ([1, "1"], [1, "1"]),
    ],
)
def test_labels_are_typed_where_all_are_of_one_kind(texts: list, labels: list) -> None:
    found = typed_labels(texts)
    assert found == labels
    assert [type(label) for label in found] == [type(label) for label in labels]
