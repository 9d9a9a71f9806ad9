"""Texts as numbers: cut at both ends, known words, empty and long and foreign ones."""

from __future__ import annotations

from paper.texts import cut, text_task

from kleene.data.alphabet import FIRST_SYMBOL, UNKNOWN
from kleene.datasets.corpora import LabelledTexts, Splits


def test_long_texts_keep_both_ends() -> None:
    word = tuple(map(str, range(10)))
    assert cut(word, 4) == ("0", "1", "8", "9")
    assert cut(word, 10) == word
    assert cut((), 4) == ()


def test_the_alphabet_is_the_most_frequent_words_of_the_training_texts() -> None:
    corpus = LabelledTexts(texts=("a a a b b c", "d"), labels=("x", "y"))
    other = LabelledTexts(texts=("e a",), labels=("y",))
    task = text_task(Splits(corpus, other), vocabulary=2, tokens=100)
    assert task.alphabet.symbols == ("a", "b")
    assert task.classes == ("x", "y")
    assert task.train.labels.tolist() == [0, 1]
    first = FIRST_SYMBOL
    assert task.test.words[0].tolist() == [UNKNOWN, first]
