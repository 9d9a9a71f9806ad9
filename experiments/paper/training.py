"""One run on real data: train with a held-out part, test once, save the model."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.machine import Label
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.training.history import Epoch, History
from kleene.training.loop import fit
from kleene.training.progress import Reporter
from kleene.training.run import Run
from kleene.training.stages import Stage

HELD_OUT = 0.1
"""The share of the training examples that chooses the epoch, and never trains."""
BATCH = 64
"""Examples tested at a time; few, since some are long."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """Examples in two parts, and what their numbers stand for."""

    train: Examples
    test: Examples
    alphabet: Alphabet
    classes: tuple[Label, ...]
    tokens: str
    coarse: Examples | None = None
    """The training examples once more, shortened; the network may learn from them first."""


def train_and_test(
    task: Task,
    *,
    network: dict[str, Any],
    stages: Sequence[Stage],
    seed: int,
    folder: Path,
    checkpoint: str,
    reporter: Reporter,
    prepare: Callable[[Classifier], None] | None = None,
    coarse_stages: Sequence[Stage] = (),
) -> dict[str, Any]:
    """Error on the test examples, and how it got there.

    The weights are those of the epoch that did best on a tenth of the training examples. A
    `checkpoint` in `folder` is continued; the finished model is saved there. `coarse_stages`
    come first and read the task's `coarse` examples.
    """
    torch.manual_seed(seed)
    classifier = Classifier(NetworkConfig(num_classes=len(task.classes), **network))
    if prepare is not None:
        prepare(classifier)
    folder.mkdir(parents=True, exist_ok=True)
    parts = [(task.train, stages, checkpoint)]
    if task.coarse is not None:
        parts.insert(0, (task.coarse, coarse_stages, f"coarse-{checkpoint}"))
    history, hook = History(), _CpuSeconds()
    for examples, chosen, file in parts:
        training, held = examples.split(HELD_OUT, seed)  # the same rows are held out
        history.epochs += fit(
            classifier,
            training,
            validation=held,
            stages=chosen,
            run=Run(seed=seed, checkpoint=folder / file, reporter=reporter, hook=hook),
        ).epochs
    model = Model(
        network=classifier,
        alphabet=task.alphabet,
        classes=task.classes,
        tokens=task.tokens,
        longest=int(task.train.lengths.max()),
        history=history,
    )
    model.save(folder)
    cpu = [notes["cpu"] for notes in history.curve("notes")]
    started = time.process_time()
    test = evaluate(classifier, task.test, BATCH)
    seconds = time.process_time() - started
    return {
        "test_error": round(100 * (1 - test.accuracy), 2),
        "validation_error": round(100 * (1 - evaluate(classifier, held).accuracy), 2),
        "epochs": len(history),
        "epoch_seconds": round(mean(cpu), 1) if cpu else None,
        "test_seconds": round(seconds, 1),
        "curve": [round(100 * (1 - e), 2) for e in history.curve("validation_accuracy")],
        "loss": [round(e, 4) for e in history.curve("loss")],
    }


def falling_rate(
    *falls: tuple[int, float],
    batch_size: int,
    ema: float | None = None,
    patience: int | None = None,
    prepare: Callable[[Classifier, Examples, int], None] | None = None,
) -> list[Stage]:
    """Stages of some epochs at some learning rate; each continues from the best of the one before.

    With `patience` a stage ends after so many epochs that bring nothing; `prepare` comes first.
    """
    return [
        Stage(
            name=f"rate {rate:g}",
            epochs=epochs,
            learning_rate=rate,
            batch_size=batch_size,
            ema=ema,
            patience=patience or epochs,
            prepare=None if i else prepare,
        )
        for i, (epochs, rate) in enumerate(falls)
    ]


class _CpuSeconds:
    """Notes the processor time of every epoch, which other processes do not change."""

    def __init__(self) -> None:
        self._before = time.process_time()

    def __call__(self, network: Classifier, epoch: Epoch) -> dict[str, float]:
        before, self._before = self._before, time.process_time()
        return {"cpu": round(self._before - before, 2)}
