"""The one training loop: stages of epochs of steps, resumable at any step to the same bits.

Nothing random is carried along: every step seeds torch's generator from (seed, stage, epoch, step),
and every epoch's batches follow from (seed, stage, epoch). A step counts only once its loss and
gradients are known to be finite; the last such snapshot is what a checkpoint holds and what a
non-finite loss rolls back to.

Several processes share each batch and end with the weights of one, up to rounding; where words come
with noise (dropout, Gumbel, samples), each process but the first draws noise of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from kleene.arrays import Ints
from kleene.data.batch import Batch
from kleene.data.examples import Examples
from kleene.distributed import connected
from kleene.errors import DataError, TrainingError, WorkerError
from kleene.evaluation.metrics import evaluate
from kleene.nn.classifier import Classifier
from kleene.nn.mode import HARD, OWN, PLAIN, Mode
from kleene.nn.transition import Gumbel
from kleene.training.checkpoint import (
    Checkpointer,
    Progress,
    copy_tensors,
    part_of,
    restore_optimizer,
)
from kleene.training.data_parallel import data_parallel, share_of_batch
from kleene.training.ema import ema_weights, load_ema
from kleene.training.history import Epoch, History
from kleene.training.progress import Reporter
from kleene.training.run import Run
from kleene.training.stages import LOOK_EVERY, Stage, make_optimizer
from kleene.training.typical_states import record_typical_states

MAX_FAILURES = 6


def fit(
    network: Classifier,
    examples: Examples,
    *,
    stages: Sequence[Stage],
    validation: Examples | None = None,
    run: Run | None = None,
    cell_weights: dict[str, Tensor] | None = None,
) -> History:
    """Train a network through the stages; continue from the run's checkpoint where it exists.

    With `validation` rows and a stage's `patience`, the best weights are restored at the end of
    that stage. `cell_weights` receives the weights at the end of the last stage without states.
    """
    if not len(examples):
        raise DataError("no examples to train on; give at least one of each class")
    loop = _Loop(network, examples, stages, validation, run or Run())
    with torch.enable_grad(), torch.random.fork_rng(devices=[]), loop.how.bar as active:
        loop.run(active)
    if cell_weights is not None:
        cell_weights.update(loop.cell)
    return loop.history


class _Loop:
    def __init__(
        self,
        network: Classifier,
        examples: Examples,
        stages: Sequence[Stage],
        validation: Examples | None,
        how: Run,
    ) -> None:
        self.network, self.examples, self.stages = network, examples, stages
        self.validation, self.how, self.process_group = validation, how, how.processes
        self.history, self.progress = History(), Progress()
        self.best: dict[str, Tensor] = {}
        self.cell: dict[str, Tensor] = {}
        self.checkpointer = Checkpointer(network, self.identity, how)
        self.mode = OWN
        self.observe: Callable[[Batch, Mode], Any] = network.observe
        self.epoch_started = time.monotonic()

    def run(self, reporter: Reporter) -> None:
        try:
            self._run(reporter)
        except (KeyboardInterrupt, WorkerError):
            self.checkpointer.save(self.history)
            raise
        finally:
            self.network.eval()

    def _run(self, reporter: Reporter) -> None:
        tensors: Mapping[str, Tensor] = {}
        if (restored := self.checkpointer.restore()) is not None:
            tensors, self.progress, self.history = restored
            self.best, self.cell = part_of(tensors, "best."), part_of(tensors, "cell.")
        for stage in self.stages[self.progress.stage :]:
            reporter.begin(stage)
            optimizer = self._enter(stage, tensors)
            tensors = {}
            while not self._stage_over(stage):
                self._epoch(stage, optimizer, reporter)
                if self._stuck(stage):
                    optimizer = self._restart(stage)
            if self.best:
                self.network.load_state_dict(self.best)
            else:
                load_ema(optimizer)
            if not self._has_states(stage):
                self.cell = copy_tensors(self.network.state_dict())
            self.progress, self.best = Progress(stage=self.progress.stage + 1), {}
        if self.network.config.pooling == "states":
            record_typical_states(self.network, self.examples, self.how.seed)
        self.checkpointer.record(self.progress, self.history, self.best, self.cell)
        self.checkpointer.save(self.history)

    def _enter(self, stage: Stage, tensors: Mapping[str, Tensor]) -> torch.optim.Optimizer:
        """Get ready for a stage, or for the rest of the one in which the tensors were saved."""
        good: bool | None = False
        if not tensors:
            if stage.curriculum is not None:
                least = 1 if stage.draws else stage.batch_size
                self.progress.limit = stage.curriculum.first(self.examples.easiest(least), least)
            if stage.blend is not None:
                found = evaluate(self.network, next(self.examples.parts()), mode=PLAIN)
                self.progress.cell_accuracy = self.progress.recent = found.accuracy
            if stage.prepare is not None:
                seed = self._seed(self.progress.stage)
                good = stage.prepare(self.network, self.examples, seed)
        self.observe = data_parallel(
            self.network, self.process_group, all_used=self._has_states(stage)
        )
        if good:
            self._check_start(stage)
        optimizer = make_optimizer(stage, self.network)
        if tensors:
            restore_optimizer(optimizer, tensors)
        return optimizer

    def _stuck(self, stage: Stage) -> bool:
        """Whether the network has spent too many steps on one level of the curriculum."""
        curriculum, last = stage.curriculum, self.history.epochs[-1]
        if curriculum is None or curriculum.restart_after is None or self.progress.step:
            return False
        spent = self.progress.level_steps > curriculum.restart_after
        return spent and last.accuracy < curriculum.fair

    def _restart(self, stage: Stage) -> torch.optim.Optimizer:
        """Begin the stage again with other random weights."""
        at = self.progress
        torch.manual_seed(self._seed(at.stage, at.restarts))
        fresh = Classifier(self.network.config).state_dict()
        self.network.load_state_dict(fresh)
        self.best = {}
        self.progress = Progress(stage=at.stage, epoch=at.epoch, restarts=at.restarts + 1)
        return self._enter(stage, {})

    def _check_start(self, stage: Stage) -> None:
        """Let the weights before the first epoch be the best so far."""
        if self.validation is not None and stage.patience is not None:
            mode = Mode(regularized=stage.regularized)
            found = evaluate(
                self.network, self.validation, mode=mode, process_group=self.process_group
            )
            self.progress.best_accuracy, self.progress.best_loss = found.accuracy, found.loss
            self.best = copy_tensors(self.network.state_dict())

    def _has_states(self, stage: Stage) -> bool:
        return stage.regularized and self.network.rnn.num_states > 0

    def _seed(self, *where: int) -> int:
        return int(np.random.SeedSequence([self.how.seed, *where]).generate_state(1)[0])

    def _seed_noise(self, seed: int) -> None:
        """`torch.manual_seed`; on the CPU without the other devices, a hundred times as fast."""
        if self.network.device.type == "cpu":
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)

    def _epoch(self, stage: Stage, optimizer: torch.optim.Optimizer, reporter: Reporter) -> None:
        at = self.progress
        self._schedule(stage, optimizer)
        seed = self._seed(at.stage, at.epoch)
        plan = self._plan(stage, seed)
        weights = self._class_weights(stage)
        self.epoch_started = time.monotonic()
        self.network.train()
        while at.step < len(plan):
            words, counts = self.process_group.shard_batch(plan[at.step])
            noise = () if self.process_group.is_main else (self.process_group.rank,)
            self._seed_noise(self._seed(at.stage, at.epoch, at.step, *noise))
            self._step(stage, optimizer, self.examples.batch(words), weights, counts)
            reporter.step(stage, at.epoch, at.step / len(plan))
        with ema_weights(optimizer):
            record = self._record(stage, optimizer, self.examples.batch(plan[-1]))
            self.history.epochs.append(record)
            reporter.end(record)
            self._after(stage, record)

    def _plan(self, stage: Stage, seed: int) -> Sequence[Ints]:
        """Which rows go into which batch of the epoch."""
        rows, limit = self.examples, self.progress.limit
        if stage.draws:
            return rows.draws(stage.draws, stage.batch_size, seed=seed, limit=limit)
        return rows.plan(stage.batch_size, seed=seed, limit=limit)

    def _step(
        self,
        stage: Stage,
        optimizer: torch.optim.Optimizer,
        batch: Batch,
        weights: Tensor | None,
        counts: bool,
    ) -> None:
        at = self.progress
        optimizer.zero_grad(set_to_none=True)
        scores, scans = self.observe(batch, self.mode)
        labels = torch.from_numpy(batch.labels).to(scores.device)
        loss, weight = weighted_loss(scores, labels, weights, batch)
        if stage.blend is not None:
            commitment = stage.blend.commitment / self.network.rnn.hidden_size
            loss = loss + commitment * sum(s.commitment for s in scans if s.commitment is not None)
        right = int((scores.argmax(-1) == labels).sum())
        share, lost, right, words = share_of_batch(
            self.process_group, loss, counts * float(weight), counts * right, counts * len(batch)
        )
        with connected():
            (loss * share).backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), stage.clip)
        if not (isfinite(lost) and bool(torch.isfinite(norm))):
            self._roll_back(optimizer)
            return
        self.checkpointer.record(at, self.history, self.best, self.cell, optimizer)
        self.checkpointer.save_if_due(self.history)
        optimizer.step()
        at.loss += lost * words
        at.right += right
        at.words += words
        at.step += 1

    def _roll_back(self, optimizer: torch.optim.Optimizer) -> None:
        at = self.progress
        self.checkpointer.roll_back(optimizer, at.stage)
        at.failures += 1
        if at.failures > MAX_FAILURES:
            raise TrainingError(
                f"the loss was not finite {at.failures} times, even at {at.rate:g} of the learning "
                "rate; choose a lower learning rate, or look for huge values in the input"
            )
        at.rate /= 2
        for group in optimizer.param_groups:
            group["lr"] /= 2

    def _schedule(self, stage: Stage, optimizer: torch.optim.Optimizer) -> None:
        at, rnn = self.progress, self.network.rnn
        self.mode = Mode(regularized=stage.regularized, hidden_noise=stage.hidden_noise)
        hard = isinstance(rnn.transition, Gumbel) and rnn.transition.hard
        if stage.blend is not None:
            at.blend = at.blend or stage.blend.rise
            noise = Gumbel(scale=stage.blend.noise * at.blend, hard=hard)
            self.mode = Mode(transition=noise, blend=at.blend)
        for group in optimizer.param_groups:
            group["lr"] = stage.learning_rate * at.rate * group.get("scale", 1.0)

    def _class_weights(self, stage: Stage) -> Tensor | None:
        if stage.class_weight is None:
            return None
        if not isinstance(stage.class_weight, str):
            return torch.tensor(stage.class_weight).to(self.network.head.weight)
        counts = self.examples.class_counts(self.network.config.num_classes)
        present = np.maximum(counts, 1)
        weights = torch.from_numpy(len(self.examples) / (present * np.count_nonzero(counts)))
        return weights.to(self.network.head.weight)

    def _record(self, stage: Stage, optimizer: torch.optim.Optimizer, batch: Batch) -> Epoch:
        at, rnn = self.progress, self.network.rnn
        self.network.eval()
        checked = None
        judged = stage.blend is None or at.blend == 1
        if self.validation is not None and stage.patience is not None and judged:
            mode = self.mode if stage.blend is None else HARD
            checked = evaluate(
                self.network, self.validation, mode=mode, process_group=self.process_group
            )
        states = None
        if self._has_states(stage):
            with torch.no_grad():
                trace = self.network.trace(batch, mode=self.mode)
            states = len(torch.unique(trace.global_states[trace.mask], dim=0))
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
            temperature=rnn.temperature if self._has_states(stage) else None,
            validation_loss=None if checked is None else checked.loss,
            validation_accuracy=None if checked is None else checked.accuracy,
        )
        notes = None if self.how.hook is None else self.how.hook(self.network, record)
        return record if not notes else replace(record, notes=dict(notes))

    def _after(self, stage: Stage, record: Epoch) -> None:
        """Move on to the next epoch: the curriculum, and the best weights so far."""
        at = self.progress
        if record.validation_accuracy is not None and record.validation_loss is not None:
            found = (record.validation_accuracy, -record.validation_loss)
            best = (at.best_accuracy, -at.best_loss)
            better = found[::-1] > best[::-1] if stage.by_loss else found > best
            at.stale = 0 if better else at.stale + 1
            if better:
                at.best_accuracy, at.best_loss = record.validation_accuracy, record.validation_loss
                self.best = copy_tensors(self.network.state_dict())
        if stage.blend is not None:
            at.recent = 0.5 * at.recent + 0.5 * record.accuracy
            at.blend = stage.blend.next(at.blend, at.recent, at.cell_accuracy)
        if stage.look is not None and (at.epoch + 1) % LOOK_EVERY == 0 and self._may_look(stage):
            cell = plain_cell(self.network, self.cell or self.network.state_dict())
            good = stage.look(self.network, cell, self.examples, self.validation)
            at.good_looks = at.good_looks + 1 if good else 0
        at.level_steps += at.step
        curriculum = stage.curriculum
        if curriculum is not None and at.limit is not None and at.limit < self.examples.hardest:
            if curriculum.passed(record.accuracy, at.level_steps):
                at.limit, at.level_steps = curriculum.next(at.limit, self.examples.hardest), 0
            at.stale = 0
        at.epoch, at.step, at.loss, at.right, at.words = at.epoch + 1, 0, 0.0, 0, 0

    def _may_look(self, stage: Stage) -> bool:
        """Whether lambda is 1, and the words are as long as they get."""
        at = self.progress
        full = at.limit is None or at.limit >= self.examples.hardest
        return full and (stage.blend is None or at.blend == 1)

    def _stage_over(self, stage: Stage) -> bool:
        at = self.progress
        if at.epoch >= stage.epochs:
            return True
        if at.step or not at.epoch:
            return False
        epochs = self.history.epochs[-at.epoch :]
        last = epochs[-1]
        if last.limit is not None and last.limit < self.examples.hardest:
            return False
        if at.good_looks == 2:
            return True
        if stage.target is not None and last.accuracy >= stage.target:
            return True
        if stage.until is not None and stage.until(epochs):
            return True
        return stage.patience is not None and at.stale >= stage.patience

    @property
    def identity(self) -> dict[str, Any]:
        """What must be the same for a checkpoint to be of this run."""
        stages = [[stage.name, stage.optimizer, stage.batch_size] for stage in self.stages]
        return {
            "network": self.network.config.to_dict(),
            "seed": self.how.seed,
            "words": len(self.examples),
            "stages": stages,
        }


def plain_cell(network: Classifier, weights: Mapping[str, Tensor]) -> Classifier:
    """A network without states of the same shape, with the weights of the cell."""
    cell = Classifier(replace(network.config, num_states=0, learn_temperature=False))
    cell.load_state_dict({name: weights[name] for name in cell.state_dict()})
    return cell.to(network.device).eval()


def weighted_loss(
    scores: Tensor, labels: Tensor, class_weights: Tensor | None, batch: Batch
) -> tuple[Tensor, float | Tensor]:
    """Mean cross-entropy, by the weights of classes and rows, and the sum of these weights."""
    if batch.weights is None:
        count = len(batch) if class_weights is None else class_weights[labels].sum()
        return cross_entropy(scores, labels, class_weights), count
    rows = torch.from_numpy(batch.weights).to(scores)
    total = (rows if class_weights is None else rows * class_weights[labels]).sum()
    losses = cross_entropy(scores, labels, class_weights, reduction="none")
    return (losses * rows).sum() / total.clamp_min(torch.finfo(rows.dtype).tiny), total
