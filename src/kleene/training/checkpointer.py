"""Keeps the last good moment of a run, in memory at every step and on disk now and then."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kleene.nn.classifier import Classifier
from kleene.training.checkpoint import optimizer_tensors, restore_optimizer
from kleene.training.history import History
from kleene.training.snapshot import (
    Moment,
    Progress,
    another_run,
    copy_tensors,
    load_moment,
    save_moment,
)


class Keeper:
    """What a checkpoint holds, and what a non-finite loss rolls back to."""

    def __init__(
        self,
        network: Classifier,
        run: Mapping[str, Any],
        checkpoint: Path | None,
        *,
        every: float,
        writes: bool,
    ) -> None:
        self.network, self.run = network, run
        self.checkpoint, self.every, self.writes = checkpoint, every, writes
        self.good: Moment | None = None
        self.spare: dict[str, Tensor] = {}
        self.saved_at = time.monotonic()

    def mark(
        self,
        progress: Progress,
        history: History,
        best: dict[str, Tensor],
        optimizer: torch.optim.Optimizer | None = None,
    ) -> None:
        """Weights, optimiser and progress as they are now are good."""
        tensors = {f"weights.{k}": v for k, v in self.network.state_dict().items()}
        if optimizer is not None:
            tensors |= optimizer_tensors(optimizer)
        moment = Moment(
            tensors=copy_tensors(tensors, into=self.spare),
            best=best,
            progress=asdict(progress),
            epochs=len(history),
        )
        self.spare, self.good = {} if self.good is None else self.good.tensors, moment

    def save_if_due(self, history: History) -> None:
        """Write a checkpoint where the last one is old enough."""
        if time.monotonic() - self.saved_at > self.every:
            self.save(history)

    def save(self, history: History) -> None:
        """Write the last good moment."""
        if self.writes and self.checkpoint is not None and self.good is not None:
            save_moment(self.checkpoint, self.good, self.run, history)
            self.saved_at = time.monotonic()

    def roll_back(self, optimizer: torch.optim.Optimizer, stage: int) -> None:
        """Put the last good moment back, if it is of this stage."""
        if self.good is not None and self.good.progress["stage"] == stage:
            self.network.load_state_dict(self._weights(self.good.tensors))
            restore_optimizer(optimizer, self.good.tensors)

    def restore(self) -> tuple[Moment, Progress, History] | None:
        """The moment on disk, its weights put into the network; None where there is none."""
        path = self.checkpoint
        if path is None or not path.exists():
            return None
        moment, history = load_moment(path, self.run)
        try:
            self.network.load_state_dict(self._weights(moment.tensors))
            progress = Progress(**moment.progress)
        except (KeyError, TypeError, RuntimeError) as error:
            raise another_run(path, error) from None
        return moment, progress, history

    def _weights(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: tensors[f"weights.{name}"] for name in self.network.state_dict()}
