"""What the experiments with memory have in common: data as numbers, one recipe, errors by column.

Every model gets the same recipe: Adam, easy words first, until all of validation is right; epochs
of RMSprop with momentum, after which counters drift less; then rounds in which gates are sharpened
and states cooled (`kleene.training.sharpen_gates`). Kept is the round with the fewest errors on
words longer than those of validation, the sharpest where several have as few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.languages.paper_sets import PaperSet, Split
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.nn.inference import inference
from kleene.training.history import Epoch, History
from kleene.training.loop import fit
from kleene.training.progress import Quiet, Reporter
from kleene.training.sharpen_gates import set_forget_bias, sharpening_stages
from kleene.training.stages import Curriculum, Stage

MODELS = {"LSTM": ("lstm", False), "LSTM-P": ("lstm-p", False)} | {
    "SR-LSTM": ("lstm", True),
    "SR-LSTM-P": ("lstm-p", True),
}
"""Cell, and whether it has states, by the names of the paper."""

ROUNDS = 6


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a task may choose; the same for every model of that task."""

    batch_size: int = 128
    epochs: int = 24
    patience: int = 8
    settling: int = 8
    """Epochs of RMSprop after those of Adam."""
    curriculum: Curriculum | None = field(default_factory=lambda: Curriculum(start=1, step=1))
    rounds: int = ROUNDS
    round_epochs: int = 1


@dataclass(frozen=True, kw_only=True)
class Task:
    """Words as numbers."""

    alphabet: Alphabet
    train: Examples
    validation: Examples
    tests: dict[str, Examples]
    longer: Examples
    """Words as in validation, but longer: to choose how far the gates are sharpened."""


def make_task(data: PaperSet, longer: Split) -> Task:
    """The words of a set as numbers."""
    alphabet = Alphabet(data.language.alphabet)

    def examples(split: Split) -> Examples:
        labels = np.array(split.labels, dtype=np.int64)
        keys = np.array(split.stages, dtype=np.int64) if split.stages else None
        return Examples(words=alphabet.encode_many(split.words), labels=labels, keys=keys)

    return Task(
        alphabet=alphabet,
        train=examples(data.train),
        validation=examples(data.validation),
        tests={name: examples(split) for name, split in data.tests.items()},
        longer=examples(longer),
    )


def train(
    task: Task,
    name: str,
    *,
    states: int,
    hidden: int,
    seed: int,
    recipe: Recipe,
    reporter: Reporter | None = None,
) -> tuple[Model, dict[str, Any]]:
    """A trained network, and its errors before and after its gates were saturated."""
    cell, regularized = MODELS[name]
    config = NetworkConfig(
        num_symbols=len(task.alphabet),
        num_classes=2,
        cell=cell,
        input_size=hidden,
        hidden_size=hidden,
        num_states=states if regularized else 0,
    )
    torch.manual_seed(seed)
    network = Classifier(config)
    set_forget_bias(network)
    learn = Stage(
        epochs=recipe.epochs,
        learning_rate=5e-3,
        batch_size=recipe.batch_size,
        curriculum=recipe.curriculum,
        patience=recipe.patience,
        until=_all_right,
    )
    settle = Stage(
        name="settle",
        epochs=recipe.settling,
        optimizer="rmsprop",
        learning_rate=1e-3,
        batch_size=recipe.batch_size,
        patience=recipe.settling,
    )
    reporter = reporter or Quiet()
    history = fit(
        network,
        task.train,
        stages=[learn, settle],
        validation=task.validation,
        seed=seed,
        reporter=reporter,
    )
    result: dict[str, Any] = {"epochs": len(history), "before": errors(network, task.tests)}
    result["validation_error"] = [
        None if e.validation_accuracy is None else round(1 - e.validation_accuracy, 4)
        for e in history.epochs
    ]
    longest = {key: task.tests[key] for key in list(task.tests)[-1:]}
    drift = [_column(result["before"], *longest)]
    sharper = Stage(
        epochs=recipe.round_epochs,
        optimizer="rmsprop",
        learning_rate=3e-4,
        batch_size=recipe.batch_size,
    )
    kept = [(_judged(network, task.longer), 0, deepcopy(network.state_dict()))]
    for number, part in enumerate(sharpening_stages(sharper, rounds=recipe.rounds)):
        sharpened = fit(network, task.train, stages=[part], seed=seed + number, reporter=reporter)
        history.epochs.extend(sharpened.epochs)
        drift.append(_column(errors(network, longest), *longest))
        kept.append((_judged(network, task.longer), number + 1, deepcopy(network.state_dict())))
    _, best, weights = min(kept, key=lambda one: (one[0], -one[1]))  # the sharpest of the best
    network.load_state_dict(weights)
    result |= {
        "errors": errors(network, task.tests),
        "drift": drift,
        "round": best,
        "longer": [one[0] for one in kept],
        "train_accuracy": history.epochs[-1].accuracy,
        "validation": errors(network, {"validation": task.validation}),
    }
    longest_word = int(task.train.lengths.max())
    model = Model(
        network=network,
        alphabet=task.alphabet,
        classes=(False, True),
        longest=longest_word,
        history=History(history.epochs),
    )
    return model, result


def _all_right(epochs: Sequence[Epoch]) -> bool:
    """Whether two epochs in a row left nothing to learn."""
    return all((epoch.validation_accuracy or 0.0) > 0.999 for epoch in epochs[-2:])


def errors(network: Classifier, tests: Mapping[str, Examples]) -> dict[str, dict[str, float]]:
    """Error rates by column, soft and, for networks with states, hard."""
    found = {"soft": {n: 1 - evaluate(network, e).accuracy for n, e in tests.items()}}
    if network.rnn.num_states:
        with inference(network, hard=True):
            found["hard"] = {n: 1 - evaluate(network, e).accuracy for n, e in tests.items()}
    return {mode: {n: round(x, 4) for n, x in row.items()} for mode, row in found.items()}


def _judged(network: Classifier, examples: Examples) -> float:
    """What the rounds are compared by: errors, soft and hard together."""
    return round(sum(row["longer"] for row in errors(network, {"longer": examples}).values()), 4)


def _column(found: Mapping[str, Mapping[str, float]], name: str) -> dict[str, float]:
    return {mode: row[name] for mode, row in found.items()}
