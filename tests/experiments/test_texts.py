"""Texts as numbers: cut at both ends, known words, empty and long and foreign ones."""

from __future__ import annotations

import numpy as np
import torch
from paper.texts import cut, text_task

from kleene.data.alphabet import FIRST_SYMBOL, UNKNOWN
from kleene.datasets.corpora import LabelledTexts, Splits
from kleene.evaluation.metrics import evaluate
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig

TEXTS = ("good good film", "bad film", "", "хороший фильм", "很 好", "word " * 50_000)
LABELS = ("yes", "no", "no", "yes", "yes", "no")


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


def test_test_texts_may_be_left_longer() -> None:
    corpus = LabelledTexts(texts=("a b c d e f", "a"), labels=("x", "y"))
    task = text_task(Splits(corpus, corpus), vocabulary=9, tokens=2, test_tokens=5)
    assert task.train.lengths.tolist() == [2, 1]
    assert task.test.lengths.tolist() == [4, 1]  # halves of whole tokens


def test_empty_long_and_foreign_texts_are_classified() -> None:
    corpus = LabelledTexts(texts=TEXTS, labels=LABELS)
    task = text_task(Splits(corpus, corpus), vocabulary=100, tokens=60_000)
    assert task.train.lengths.tolist() == [3, 2, 0, 2, 2, 50_000]
    assert "хороший" in task.alphabet.symbols
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=len(task.alphabet), num_classes=2, cell="lstm-p", input_size=4,
        hidden_size=4, num_states=3, pooling="max",
    )  # fmt: skip
    found = evaluate(Classifier(config), task.test)
    assert np.isfinite(found.probabilities).all()
    np.testing.assert_allclose(found.probabilities.sum(1), 1, rtol=1e-5)
