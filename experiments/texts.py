"""What the text experiments share: from a corpus to a trained, tested model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kleene.data.alphabet import Alphabet
from kleene.data.corpora import Corpus, Splits
from kleene.data.examples import Examples
from kleene.evaluate import evaluate
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.train.fit import fit
from kleene.train.progress import Bar, Quiet
from kleene.train.stage import Stage


def cut(word: tuple[str, ...], tokens: int) -> tuple[str, ...]:
    """The first and last halves of what is allowed: opinions stand at the ends of reviews."""
    return word if len(word) <= tokens else word[: tokens // 2] + word[-(tokens // 2) :]


def encode(corpus: Corpus, alphabet: Alphabet, classes: tuple[str, ...], tokens: int) -> Examples:
    """The words of a corpus as numbers."""
    words = alphabet.encode_many([cut(word, tokens) for word in corpus.words])
    numbers = {label: i for i, label in enumerate(classes)}
    return Examples(words=words, labels=np.array([numbers[label] for label in corpus.labels]))


def train_and_test(
    splits: Splits,
    *,
    vocabulary: int,
    tokens: int,
    network: dict[str, Any],
    stage: Stage,
    seed: int,
    folder: Path,
    verbose: bool,
) -> dict[str, Any]:
    """Train with early stopping on a tenth of the training texts; error on the test texts.

    A checkpoint in `folder` is gone on from; the finished model is saved there.
    """
    classes = tuple(sorted(set(splits.train.labels)))
    alphabet = Alphabet.from_words(splits.train.words, max_size=vocabulary)
    everything = encode(splits.train, alphabet, classes, tokens)
    training, held = everything.split(0.1, seed)
    torch.manual_seed(seed)
    config = NetworkConfig(num_symbols=len(alphabet), num_classes=len(classes), **network)
    classifier = Classifier(config)
    folder.mkdir(parents=True, exist_ok=True)
    started = time.process_time()
    history = fit(
        classifier,
        training,
        validation=held,
        stages=[stage],
        seed=seed,
        checkpoint=folder / "checkpoint.safetensors",
        reporter=Bar() if verbose else Quiet(),
    )
    seconds = time.process_time() - started
    test = evaluate(classifier, encode(splits.test, alphabet, classes, tokens))
    model = Model(
        network=classifier,
        alphabet=alphabet,
        classes=classes,
        tokens="words",
        longest=int(everything.lengths.max()),
        history=history,
    )
    model.save(folder)
    return {
        "test_error": round(100 * (1 - test.accuracy), 2),
        "validation_error": round(100 * (1 - evaluate(classifier, held).accuracy), 2),
        "epochs": len(history),
        "epoch_seconds": round(seconds / max(len(history), 1), 1),
        "curve": [round(100 * (1 - e), 2) for e in history.curve("validation_accuracy")],
    }
