"""Records the last good snapshot of a run: in memory at every step, on disk at intervals."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from kleene.nn.classifier import Classifier
from kleene.training.checkpoints.checkpoint import optimizer_tensors, restore_optimizer
from kleene.training.checkpoints.snapshot import (
    Progress,
    Snapshot,
    another_run,
    copy_tensors,
    load_snapshot,
    save_snapshot,
)
from kleene.training.history import History
from kleene.training.run import Run


class Checkpointer:
    """Holds what a checkpoint is written from and what a non-finite loss rolls back to."""

    def __init__(
        self,
        network: Classifier,
        identity: Mapping[str, Any],
        run: Run,
    ) -> None:
        self.network, self.identity = network, identity
        self.checkpoint, self.checkpoint_every = run.checkpoint, run.checkpoint_every
        self.writes = run.processes.is_main
        self.good: Snapshot | None = None
        self.spare: dict[str, Tensor] = {}
        self.saved_at = time.monotonic()

    def record(
        self,
        progress: Progress,
        history: History,
        best: dict[str, Tensor],
        cell: dict[str, Tensor],
        optimizer: torch.optim.Optimizer | None = None,
    ) -> None:
        """Record weights, optimiser and progress as they are now as the last good snapshot."""
        tensors = {f"weights.{k}": v for k, v in self.network.state_dict().items()}
        if optimizer is not None:
            tensors |= optimizer_tensors(optimizer)
        snapshot = Snapshot(
            tensors=copy_tensors(tensors, into=self.spare),
            best=best,
            cell=cell,
            progress=asdict(progress),
            epochs=len(history),
        )
        self.spare, self.good = {} if self.good is None else self.good.tensors, snapshot

    def save_if_due(self, history: History) -> None:
        """Write a checkpoint where the last one is old enough."""
        if time.monotonic() - self.saved_at > self.checkpoint_every:
            self.save(history)

    def save(self, history: History) -> None:
        """Write the last good snapshot."""
        if self.writes and self.checkpoint is not None and self.good is not None:
            save_snapshot(self.checkpoint, self.good, self.identity, history)
            self.saved_at = time.monotonic()

    def roll_back(self, optimizer: torch.optim.Optimizer, stage: int) -> None:
        """Restore the last good snapshot, if it is of this stage."""
        if self.good is not None and self.good.progress["stage"] == stage:
            self.network.load_state_dict(self._weights(self.good.tensors))
            restore_optimizer(optimizer, self.good.tensors)

    def restore(self) -> tuple[Snapshot, Progress, History] | None:
        """Load the snapshot on disk and its weights into the network; None if there is none."""
        path = self.checkpoint
        if path is None or not path.exists():
            return None
        snapshot, history = load_snapshot(path, self.identity)
        try:
            self.network.load_state_dict(self._weights(snapshot.tensors))
            progress = Progress(**snapshot.progress)
        except (KeyError, TypeError, RuntimeError) as error:
            raise another_run(path, error) from None
        return snapshot, progress, history

    def _weights(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: tensors[f"weights.{name}"] for name in self.network.state_dict()}
