"""Mend an ambiguous network: a short fine-tune with Gumbel noise, so that clear steps survive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from kleene.data.alphabet import Ids
from kleene.data.examples import Examples
from kleene.errors import DataError
from kleene.evaluate import evaluate
from kleene.machine import Label
from kleene.model import Model
from kleene.train.fit import fit
from kleene.train.stage import Stage


def sharpen(
    model: Model,
    words: Iterable[Any],
    labels: Iterable[Label],
    *,
    epochs: int = 12,
    learning_rate: float = 5e-4,
    seed: int = 0,
) -> Model | None:
    """A copy of the model, trained on with noise that grows; None if that cost accuracy.

    Noise drowns what the weights of a mixture say beside its largest one, so the network learns to
    do without.
    """
    from kleene.read.words import encode_words

    return sharpen_encoded(
        model,
        encode_words(model, words),
        class_labels(model, labels),
        epochs=epochs,
        learning_rate=learning_rate,
        seed=seed,
    )


def sharpen_encoded(
    model: Model,
    words: Sequence[Ids],
    labels: np.ndarray[Any, np.dtype[np.int64]],
    *,
    epochs: int,
    learning_rate: float,
    seed: int,
) -> Model | None:
    """The same, for words and labels that are numbers already."""
    examples = Examples(words=words, labels=labels)
    network = deepcopy(model.network)
    stage = Stage(
        name="sharpen",
        epochs=epochs,
        learning_rate=learning_rate,
        noise=lambda epoch: min(1.0, 0.25 * (epoch + 1)),
        balanced=True,
    )
    transition = network.rnn.transition
    history = fit(network, examples, stages=[stage], seed=seed)
    network.rnn.transition = transition
    if evaluate(network, examples).accuracy < evaluate(model.network, examples).accuracy:
        return None
    longer = replace(model.history, epochs=[*model.history.epochs, *history.epochs])
    return replace(model, network=network, history=longer)


def class_labels(
    model: Model, labels: Iterable[Label]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The class of every label, or an error that names one the model does not have."""
    ids = {label: i for i, label in enumerate(model.classes)}
    try:
        return np.array([ids[label] for label in labels], dtype=np.int64)
    except KeyError as error:
        raise DataError(
            f"the label {error.args[0]!r} is none of the model's classes {model.classes}; "
            "give the labels it was trained with"
        ) from None
