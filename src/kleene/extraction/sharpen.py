"""Sharpen an ambiguous network: a short fine-tune with Gumbel noise keeps the clear steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from kleene.arrays import Ints
from kleene.data.alphabet import Ids
from kleene.data.examples import Examples
from kleene.errors import DataError
from kleene.evaluation.metrics import evaluate
from kleene.extraction.checks.fidelity import run_ids
from kleene.extraction.table import read_table
from kleene.extraction.words import encode_words
from kleene.machine import Label
from kleene.model import Model
from kleene.training.history import History
from kleene.training.loop import fit
from kleene.training.stages import Stage


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
    encoded = encode_words(model, words)
    examples = Examples(words=encoded, labels=class_labels(model, labels))
    network = deepcopy(model.network)
    copy = replace(model, network=network)
    stage = Stage(
        name="sharpen",
        epochs=epochs,
        learning_rate=learning_rate,
        noise=lambda epoch: min(1.0, 0.25 * (epoch + 1)),
        class_weight="balanced",
        until=lambda done: [epoch.notes.get("table") for epoch in done[-2:]] == [1.0, 1.0],
    )
    history = fit(
        network,
        examples,
        stages=[stage],
        seed=seed,
        hook=lambda *_: _table_accuracy(copy, encoded, examples.labels),
    )
    if evaluate(network, examples).accuracy < evaluate(model.network, examples).accuracy:
        return None
    return replace(copy, history=History([*model.history.epochs, *history.epochs]))


def _table_accuracy(model: Model, words: Sequence[Ids], labels: Ints) -> dict[str, float]:
    """How many words the table gets right, for networks that have one."""
    if not model.is_finite_state:
        return {}
    predicted = run_ids(model, read_table(model).dfa, words)
    return {"table": float((predicted == labels).mean())}


def class_labels(model: Model, labels: Iterable[Label]) -> Ints:
    """The class of every label, or an error that names one the model does not have."""
    ids = {label: i for i, label in enumerate(model.classes)}
    try:
        return np.array([ids[label] for label in labels], dtype=np.int64)
    except KeyError as error:
        raise DataError(
            f"the label {error.args[0]!r} is none of the model's classes {model.classes}; "
            "give the labels it was trained with"
        ) from None
