"""The one training loop: stages of epochs of steps, resumable at any step to the same bits.

Nothing random is carried along: every step seeds torch's generator from (seed, stage, epoch, step),
and every epoch's batches follow from (seed, stage, epoch). A step counts only once its loss and
gradients are known to be finite; the last such moment is what a checkpoint holds and what a
non-finite loss rolls back to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from kleene.data.batch import Batch
from kleene.data.examples import Examples
from kleene.errors import DataError, TrainingError
from kleene.evaluate import evaluate
from kleene.nn.classifier import Classifier
from kleene.nn.transition import Gumbel
from kleene.train.checkpoint import (
    load_checkpoint,
    optimizer_tensors,
    restore_optimizer,
    save_checkpoint,
)
from kleene.train.history import Epoch, History
from kleene.train.progress import Quiet, Reporter
from kleene.train.stage import Stage, make_optimizer

Hook = Callable[[Classifier, Epoch], Mapping[str, float] | None]
"""Called after every epoch; what it returns is kept in the history as the epoch's notes."""

MOST_FAILURES = 6


@dataclass
class Progress:
    """Where a run stands: all that the loop carries from step to step, as plain numbers."""

    stage: int = 0
    epoch: int = 0
    step: int = 0
    limit: float | None = None
    level_epochs: int = 0
    best_accuracy: float = -1.0
    best_loss: float = float("inf")
    stale: int = 0
    rate: float = 1.0
    failures: int = 0
    loss: float = 0.0
    right: int = 0
    words: int = 0
    done: bool = False


def fit(
    network: Classifier,
    examples: Examples,
    *,
    stages: Sequence[Stage],
    validation: Examples | None = None,
    seed: int = 0,
    hook: Hook | None = None,
    checkpoint: Path | None = None,
    every: float = 30.0,
    reporter: Reporter | None = None,
) -> History:
    """Train a network through the stages; go on from `checkpoint` where that file exists.

    `every` is the least number of seconds between two checkpoints. With validation words and a
    stage's `patience`, the best weights are restored at the end of that stage.
    """
    if not len(examples):
        raise DataError("no words to train on came; give at least one word of each class")
    loop = _Loop(network, examples, stages, validation, seed, hook, checkpoint, every)
    with torch.random.fork_rng(devices=[]), reporter or Quiet() as told:
        loop.run(told)
    return loop.history


class _Loop:
    def __init__(
        self,
        network: Classifier,
        examples: Examples,
        stages: Sequence[Stage],
        validation: Examples | None,
        seed: int,
        hook: Hook | None,
        checkpoint: Path | None,
        every: float,
    ) -> None:
        self.network, self.examples, self.stages = network, examples, stages
        self.validation, self.seed, self.hook = validation, seed, hook
        self.checkpoint, self.every = checkpoint, every
        self.history, self.progress = History(), Progress()
        self.best: dict[str, Tensor] = {}
        self.good: dict[str, Tensor] = {}
        self.good_progress: dict[str, Any] = {}
        self.saved_at = time.monotonic()
        self.epoch_started = time.monotonic()

    def run(self, told: Reporter) -> None:
        resumed = self.checkpoint is not None and self.checkpoint.exists()
        tensors = self._restore() if resumed else {}
        while self.progress.stage < len(self.stages) and not self.progress.done:
            stage = self.stages[self.progress.stage]
            self._enter(stage, fresh=not tensors)
            optimizer = make_optimizer(stage, self.network)
            if tensors:
                restore_optimizer(optimizer, tensors)
                tensors = {}
            told.begin(stage)
            try:
                while not self._stage_over(stage):
                    self._epoch(stage, optimizer, told)
            except KeyboardInterrupt:
                self._save()
                raise
            if self.best:
                self.network.load_state_dict(self.best)
            self.progress, self.best = Progress(stage=self.progress.stage + 1), {}
        self.progress.done = True
        self._mark_good({})
        self._save()
        self.network.eval()

    def _enter(self, stage: Stage, fresh: bool) -> None:
        rnn = self.network.rnn
        rnn.regularized = stage.regularized and rnn.num_states > 0
        if not fresh:
            return
        if stage.curriculum is not None:
            least = stage.batch_size
            self.progress.limit = stage.curriculum.first(self.examples.difficulty, least)
        if stage.prepare is not None:
            stage.prepare(self.network, self.examples, self._seed(self.progress.stage))

    def _seed(self, *where: int) -> int:
        return int(np.random.SeedSequence([self.seed, *where]).generate_state(1)[0])

    def _epoch(self, stage: Stage, optimizer: torch.optim.Optimizer, told: Reporter) -> None:
        at = self.progress
        self._schedule(stage, optimizer)
        seed = self._seed(at.stage, at.epoch)
        plan = self.examples.plan(stage.batch_size, seed=seed, limit=at.limit)
        weights = self._class_weights(stage)
        self.epoch_started = time.monotonic()
        self.network.train()
        batch = None
        while at.step < len(plan):
            batch = self.examples.batch(plan[at.step])
            torch.manual_seed(self._seed(at.stage, at.epoch, at.step))
            self._step(stage, optimizer, batch, weights)
            told.step(stage, at.epoch, at.step / len(plan))
        record = self._record(stage, optimizer, batch or self.examples.batch(plan[-1]))
        self.history.epochs.append(record)
        told.end(record)
        self._after(stage, record)

    def _step(
        self,
        stage: Stage,
        optimizer: torch.optim.Optimizer,
        batch: Batch,
        weights: Tensor | None,
    ) -> None:
        at = self.progress
        optimizer.zero_grad(set_to_none=True)
        scores = self.network(batch)
        labels = torch.from_numpy(batch.labels).to(scores.device)
        loss = cross_entropy(scores, labels, weights)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), stage.clip)
        if not bool(torch.isfinite(loss) & torch.isfinite(norm)):
            self._roll_back(optimizer)
            return
        self._mark_good(optimizer_tensors(optimizer))
        if time.monotonic() - self.saved_at > self.every:
            self._save()
        optimizer.step()
        at.loss += loss.item() * len(batch)
        at.right += int((scores.argmax(-1) == labels).sum())
        at.words += len(batch)
        at.step += 1

    def _roll_back(self, optimizer: torch.optim.Optimizer) -> None:
        at = self.progress
        at.failures += 1
        if at.failures > MOST_FAILURES:
            raise TrainingError(
                f"the loss was not finite {at.failures} times, though the learning rate went down "
                f"to {at.rate:g} of its value; choose a lower one, or look for huge values in the "
                "input"
            )
        at.rate /= 2
        if self.good:
            self.network.load_state_dict(self._weights(self.good))
            restore_optimizer(optimizer, self.good)
        for group in optimizer.param_groups:
            group["lr"] /= 2

    def _schedule(self, stage: Stage, optimizer: torch.optim.Optimizer) -> None:
        at, rnn = self.progress, self.network.rnn
        if stage.noise is not None:
            rnn.transition = Gumbel(scale=stage.noise(at.epoch))
        if stage.temperature is not None:
            rnn.temperature = stage.temperature(at.epoch)
        for group in optimizer.param_groups:
            group["lr"] = stage.learning_rate * at.rate

    def _class_weights(self, stage: Stage) -> Tensor | None:
        if not stage.balanced:
            return None
        counts = np.bincount(self.examples.labels, minlength=self.network.config.num_classes)
        present = np.maximum(counts, 1)
        weights = torch.from_numpy(len(self.examples) / (present * np.count_nonzero(counts)))
        return weights.to(self.network.head.weight)

    def _record(self, stage: Stage, optimizer: torch.optim.Optimizer, batch: Batch) -> Epoch:
        at, rnn = self.progress, self.network.rnn
        checked = None
        if self.validation is not None and stage.patience is not None:
            checked = evaluate(self.network, self.validation)
        states = None
        if rnn.regularized:
            self.network.eval()
            with torch.no_grad():
                trace = self.network.trace(batch)
            states = len(torch.unique(trace.global_states[trace.mask], dim=0))
            self.network.train()
        record = Epoch(
            stage=stage.name,
            epoch=at.epoch,
            loss=at.loss / max(at.words, 1),
            accuracy=at.right / max(at.words, 1),
            words=at.words,
            rate=optimizer.param_groups[0]["lr"],
            seconds=time.monotonic() - self.epoch_started,
            limit=at.limit,
            states=states,
            temperature=rnn.temperature if rnn.regularized else None,
            validation_loss=None if checked is None else checked.loss,
            validation_accuracy=None if checked is None else checked.accuracy,
        )
        notes = None if self.hook is None else self.hook(self.network, record)
        self.network.train()
        return record if not notes else Epoch(**{**asdict(record), "notes": dict(notes)})

    def _after(self, stage: Stage, record: Epoch) -> None:
        """Move on to the next epoch: the curriculum, and the best weights so far."""
        at = self.progress
        if record.validation_accuracy is not None and record.validation_loss is not None:
            better = (record.validation_accuracy, -record.validation_loss) > (
                at.best_accuracy,
                -at.best_loss,
            )
            at.stale = 0 if better else at.stale + 1
            if better:
                at.best_accuracy, at.best_loss = record.validation_accuracy, record.validation_loss
                self.best = _copy(self.network.state_dict())
        at.level_epochs += 1
        curriculum = stage.curriculum
        if curriculum is not None and at.limit is not None and at.limit < self._hardest:
            if record.accuracy > curriculum.threshold or at.level_epochs >= curriculum.patience:
                at.limit, at.level_epochs = at.limit + curriculum.step, 0
            at.stale = 0
        at.epoch, at.step, at.loss, at.right, at.words = at.epoch + 1, 0, 0.0, 0, 0

    @property
    def _hardest(self) -> float:
        return float(self.examples.difficulty.max())

    def _stage_over(self, stage: Stage) -> bool:
        at = self.progress
        if at.epoch >= stage.epochs:
            return True
        if at.step or not at.epoch:
            return False
        epochs = [e for e in self.history.epochs[-at.epoch :] if e.stage == stage.name]
        last = epochs[-1]
        if last.limit is not None and last.limit < self._hardest:
            return False
        if stage.target is not None and last.accuracy >= stage.target:
            return True
        if stage.until is not None and stage.until(epochs):
            return True
        return stage.patience is not None and at.stale >= stage.patience

    def _weights(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: tensors[f"weights.{name}"] for name in self.network.state_dict()}

    def _mark_good(self, optimizer: Mapping[str, Tensor]) -> None:
        weights = {f"weights.{k}": v for k, v in self.network.state_dict().items()}
        self.good = _copy({**weights, **optimizer}, into=self.good)
        self.good_progress = asdict(self.progress)

    def _save(self) -> None:
        if self.checkpoint is None or not self.good:
            return
        best = {f"best.{name}": tensor for name, tensor in self.best.items()}
        progress = {"progress": self.good_progress, "history": self.history.to_dict()}
        save_checkpoint(self.checkpoint, {**self.good, **best}, progress)
        self.saved_at = time.monotonic()

    def _restore(self) -> dict[str, Tensor]:
        tensors, progress = load_checkpoint(cast(Path, self.checkpoint))
        try:
            self.network.load_state_dict(self._weights(tensors))
            self.progress = Progress(**progress["progress"])
            self.history = History.from_dict(progress["history"])
        except (KeyError, TypeError, RuntimeError) as error:
            raise TrainingError(
                f"{self.checkpoint} belongs to another network or version ({error}); "
                "train without --resume, or with the settings of that run"
            ) from None
        self.best = {n[5:]: t for n, t in tensors.items() if n.startswith("best.")}
        return tensors


def _copy(
    tensors: Mapping[str, Tensor], into: dict[str, Tensor] | None = None
) -> dict[str, Tensor]:
    """A copy of some tensors, in the memory of an earlier copy where that has the same names."""
    if not into or into.keys() != tensors.keys():
        return {name: tensor.detach().clone() for name, tensor in tensors.items()}
    for name, tensor in tensors.items():
        into[name].copy_(tensor)
    return into
