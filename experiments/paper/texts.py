"""Texts as numbers: what the experiments with reviews and messages share."""

from __future__ import annotations

import numpy as np
import torch

from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.datasets.corpora import LabelledTexts, Splits
from kleene.nn.classifier import Classifier
from paper.training import Task


def cut(word: tuple[str, ...], tokens: int) -> tuple[str, ...]:
    """The first and last halves of what is allowed: opinions stand at the ends of texts."""
    return word if len(word) <= tokens else word[: tokens // 2] + word[-(tokens // 2) :]


def encode(
    corpus: LabelledTexts, alphabet: Alphabet, classes: tuple[str, ...], tokens: int
) -> Examples:
    """The words of a corpus as numbers."""
    words = alphabet.encode_many([cut(word, tokens) for word in corpus.words])
    numbers = {label: i for i, label in enumerate(classes)}
    return Examples(words=words, labels=np.array([numbers[label] for label in corpus.labels]))


def text_task(
    splits: Splits, *, vocabulary: int, tokens: int, test_tokens: int | None = None
) -> Task:
    """The most frequent words of the training texts are the alphabet, all others unknown.

    Texts are cut to so many tokens; those of the test may be left longer.
    """
    classes = tuple(sorted(set(splits.train.labels)))
    alphabet = Alphabet.from_words(splits.train.words, max_size=vocabulary)
    train = encode(splits.train, alphabet, classes, tokens)
    test = encode(splits.test, alphabet, classes, test_tokens or tokens)
    return Task(train=train, test=test, alphabet=alphabet, classes=classes, tokens="text")


def smaller_embeddings(network: Classifier, factor: float = 0.1) -> None:
    """Rare words, seen a few times only, keep much of what they begin with: let it be small."""
    with torch.no_grad():
        network.embedding.weight *= factor
