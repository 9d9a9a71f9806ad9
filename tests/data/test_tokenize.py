"""The plain tokenizer, in English and elsewhere."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kleene.data.tokenize import split, tokenize


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
    assert split("Not bad!", "chars") == "Not bad!"
    assert split("Not bad!", "words") == ("Not", "bad!")
    assert split("Not bad!", "text") == ("not", "bad", "!")
    assert split(("Not", "bad!"), "text") == ("Not", "bad!")
