"""What the experiments with memory have in common: data as numbers, one recipe, errors by column.

Every model gets the same recipe: Adam, easy words first, until all of validation is right; epochs
of RMSprop with momentum, after which counters drift less; then rounds in which gates are sharpened
and states cooled (`paper.sharpen_gates`). Kept is the round with the fewest errors on
words longer than those of validation, then on validation, the sharpest where several have as few.
Where even that one makes errors, the network is trained again from other random weights, at most
`attempts` times, and the best attempt is kept. Test words play no part in any of this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.nn.mode import HARD
from kleene.training.history import Epoch, History
from kleene.training.loop import fit
from kleene.training.progress import Reporter
from kleene.training.run import Run
from kleene.training.stages import Curriculum, Stage
from paper.sets import PaperSet, Split
from paper.sharpen_gates import set_forget_bias, sharpening_stages

MODELS = {"LSTM": ("lstm", False), "LSTM-P": ("lstm-p", False)} | {
    "SR-LSTM": ("lstm", True),
    "SR-LSTM-P": ("lstm-p", True),
}
"""Cell, and whether it has states, by the names of the paper."""

SEEDS_APART = 1_000_000
"""Between the seeds of two attempts of one run."""
RIGHT_ROUNDS = 3
"""Rounds in a row without an error after which no further ones follow."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a task may choose; the same for every model of that task."""

    batch_size: int = 128
    epochs: int = 24
    patience: int = 8
    rmsprop_epochs: int = 8
    """Epochs of RMSprop after those of Adam."""
    curriculum: Curriculum | None = field(default_factory=lambda: Curriculum(start=1, step=1))
    rounds: int = 10
    round_epochs: int = 1
    attempts: int = 3


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
    """The network of the best attempt, and its errors on the tests."""
    cell, regularized = MODELS[name]
    config = NetworkConfig(
        num_symbols=len(task.alphabet),
        num_classes=2,
        cell=cell,
        input_size=hidden,
        hidden_size=hidden,
        num_states=states if regularized else 0,
    )
    attempts: list[_Attempt] = []
    for number in range(recipe.attempts):
        attempts.append(
            _attempt(task, config, recipe, seed + number * SEEDS_APART, reporter or Reporter())
        )
        if not any(attempts[-1].best.wrong):
            break
    best = min(attempts, key=lambda attempt: attempt.best.wrong)
    best.network.load_state_dict(best.best.weights)
    result = {
        "errors": errors(best.network, task.tests),
        "attempts": [attempt.best.wrong for attempt in attempts],
        "attempt": attempts.index(best),
        "round": best.rounds.index(best.best),
        "rounds": [{"longer": r.longer, "validation": r.validation} for r in best.rounds],
        "epochs": len(best.history),
        "train_accuracy": best.history[-1].accuracy,
        "validation_error": [
            round(1 - e.validation_accuracy, 4)
            for e in best.history
            if e.validation_accuracy is not None
        ],
    }
    model = Model(
        network=best.network,
        alphabet=task.alphabet,
        classes=(False, True),
        longest=int(task.train.lengths.max()),
        history=History(best.history),
    )
    return model, result


@dataclass(frozen=True, kw_only=True, eq=False)
class _Round:
    """A network after a round of sharpening, and its errors on the words that choose."""

    longer: dict[str, float]
    validation: dict[str, float] | None
    """None where the longer words have already decided against the round."""
    weights: dict[str, Tensor]

    @property
    def wrong(self) -> tuple[float, float]:
        """Soft and hard errors together: on the longer words, then on validation."""
        validation = 1.0 if self.validation is None else sum(self.validation.values())
        return round(sum(self.longer.values()), 4), round(validation, 4)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Attempt:
    """A training from one set of random weights."""

    network: Classifier
    history: list[Epoch]
    rounds: list[_Round]

    @property
    def best(self) -> _Round:
        """The round with the fewest errors, the latest of several."""
        return min(reversed(self.rounds), key=lambda one: one.wrong)


def _attempt(
    task: Task, config: NetworkConfig, recipe: Recipe, seed: int, reporter: Reporter
) -> _Attempt:
    torch.manual_seed(seed)
    network = Classifier(config)
    set_forget_bias(network)
    adam = Stage(
        epochs=recipe.epochs,
        learning_rate=5e-3,
        batch_size=recipe.batch_size,
        curriculum=recipe.curriculum,
        patience=recipe.patience,
        until=_all_right,
    )
    rmsprop = Stage(
        name="rmsprop",
        epochs=recipe.rmsprop_epochs,
        optimizer="rmsprop",
        learning_rate=1e-3,
        batch_size=recipe.batch_size,
        patience=recipe.rmsprop_epochs,
    )
    history = fit(
        network,
        task.train,
        stages=[adam, rmsprop],
        validation=task.validation,
        run=Run(seed=seed, reporter=reporter),
    ).epochs
    sharper = replace(rmsprop, epochs=recipe.round_epochs, learning_rate=3e-4, patience=None)
    rounds = [_judged(network, task)]
    for number, part in enumerate(sharpening_stages(sharper, rounds=recipe.rounds)):
        more = fit(
            network, task.train, stages=[part], run=Run(seed=seed + number, reporter=reporter)
        )
        history.extend(more.epochs)
        rounds.append(_judged(network, task))
        if not any(sum(one.wrong) for one in rounds[-RIGHT_ROUNDS:]):
            break
    return _Attempt(network=network, history=history, rounds=rounds)


def _all_right(epochs: Sequence[Epoch]) -> bool:
    """Whether two epochs in a row left nothing to learn."""
    return all((epoch.validation_accuracy or 0.0) > 0.999 for epoch in epochs[-2:])


def errors(network: Classifier, tests: Mapping[str, Examples]) -> dict[str, dict[str, float]]:
    """Error rates by column, soft and, for networks with states, hard."""
    found = {"soft": {n: 1 - evaluate(network, e).accuracy for n, e in tests.items()}}
    if network.rnn.num_states:
        hard = {n: evaluate(network, e, mode=HARD) for n, e in tests.items()}
        found["hard"] = {n: 1 - e.accuracy for n, e in hard.items()}
    return {mode: {n: round(x, 4) for n, x in row.items()} for mode, row in found.items()}


def _judged(network: Classifier, task: Task) -> _Round:
    """What rounds are compared by; validation is only asked where the longer words are right."""
    longer = _column(errors(network, {"longer": task.longer}), "longer")
    validation = None
    if not any(longer.values()):
        validation = _column(errors(network, {"validation": task.validation}), "validation")
    return _Round(
        longer=longer,
        validation=validation,
        weights=deepcopy(network.state_dict()),
    )


def _column(found: Mapping[str, Mapping[str, float]], name: str) -> dict[str, float]:
    return {mode: row[name] for mode, row in found.items()}
