"""Runs on disk: the last good snapshot, in memory at every step, in one file at intervals.

The file is written whole or not at all, and holds no code: tensors by safetensors, and progress and
a checksum as JSON in the same file's header.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kleene.errors import ModelError, TrainingError
from kleene.files import check_regular, format_mismatch, write_atomically
from kleene.nn.classifier import Classifier
from kleene.training.history import History
from kleene.training.run import Run

FORMAT = "kleene.checkpoint/1"
MAX_BYTES = 2**36
"""Larger files are refused: the weights, their average, the best ones and two moments of each."""


@dataclass
class Progress:
    """What the loop carries from step to step, as plain numbers."""

    stage: int = 0
    epoch: int = 0
    step: int = 0
    limit: float | None = None
    level_steps: int = 0
    restarts: int = 0
    blend: float = 0.0
    recent: float = 0.0
    """A running mean of the accuracy, by which `blend` rises or falls."""
    cell_accuracy: float = 0.0
    good_looks: int = 0
    best_accuracy: float = -1.0
    best_loss: float = float("inf")
    stale: int = 0
    rate: float = 1.0
    failures: int = 0
    loss: float = 0.0
    right: int = 0
    words: int = 0


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """All that a run continues from; replaced as a whole, so that an interrupt never sees half."""

    tensors: dict[str, Tensor]
    """Weights and the optimiser's state."""
    kept: dict[str, Tensor]
    """The best weights on the validation rows, and those at the end of the last plain stage."""
    progress: dict[str, Any]
    epochs: int


class Checkpointer:
    """Holds what a checkpoint is written from and what a non-finite loss rolls back to."""

    def __init__(self, network: Classifier, identity: Mapping[str, Any], run: Run) -> None:
        self.network, self.identity, self.run = network, identity, run
        self.good: Snapshot | None = None
        self.spare: dict[str, Tensor] = {}
        self.saved_at = time.monotonic()

    def record(
        self,
        progress: Progress,
        history: History,
        best: Mapping[str, Tensor],
        cell: Mapping[str, Tensor],
        optimizer: torch.optim.Optimizer | None = None,
    ) -> None:
        """Record weights, optimiser and progress as they are now as the last good snapshot."""
        tensors = {f"weights.{k}": v for k, v in self.network.state_dict().items()}
        for index, values in optimizer.state_dict()["state"].items() if optimizer else ():
            tensors |= {f"optimizer.{index}.{k}": torch.as_tensor(v) for k, v in values.items()}
        kept = {f"best.{k}": v for k, v in best.items()} | {f"cell.{k}": v for k, v in cell.items()}
        snapshot = Snapshot(
            tensors=copy_tensors(tensors, into=self.spare),
            kept=kept,
            progress=asdict(progress),
            epochs=len(history),
        )
        self.spare, self.good = {} if self.good is None else self.good.tensors, snapshot

    def save_if_due(self, history: History) -> None:
        """Write a checkpoint where the last one is old enough."""
        if time.monotonic() - self.saved_at > self.run.checkpoint_every:
            self.save(history)

    def save(self, history: History) -> None:
        """Write the last good snapshot."""
        good, path = self.good, self.run.checkpoint
        if path is None or good is None or not self.run.processes.is_main:
            return
        done = History(history.epochs[: good.epochs])
        about = {"run": self.identity, "progress": good.progress, "history": done.to_dict()}
        save_checkpoint(path, {**good.tensors, **good.kept}, about)
        self.saved_at = time.monotonic()

    def roll_back(self, optimizer: torch.optim.Optimizer, stage: int) -> None:
        """Restore the last good snapshot, if it is of this stage."""
        if self.good is not None and self.good.progress["stage"] == stage:
            self.network.load_state_dict(part_of(self.good.tensors, "weights."))
            restore_optimizer(optimizer, self.good.tensors)

    def restore(self) -> tuple[dict[str, Tensor], Progress, History] | None:
        """Load the tensors on disk, and the weights into the network; None without a file."""
        path = self.run.checkpoint
        if path is None or not path.exists():
            return None
        tensors, about = load_checkpoint(path)
        try:
            for key, value in self.identity.items():
                if about["run"][key] != value:
                    raise ValueError(f"another {key}")
            history = History.from_dict(about["history"])
            progress = Progress(**about["progress"])
            self.network.load_state_dict(part_of(tensors, "weights."))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise TrainingError(
                f"{path} belongs to another run ({error}); "
                "train without --resume, or with the settings of that run"
            ) from None
        return tensors, progress, history


def part_of(tensors: Mapping[str, Tensor], kind: str) -> dict[str, Tensor]:
    """The tensors whose names begin with `kind`, without it."""
    return {name.removeprefix(kind): t for name, t in tensors.items() if name.startswith(kind)}


def save_checkpoint(path: Path, tensors: Mapping[str, Tensor], progress: Mapping[str, Any]) -> None:
    """Write tensors and progress to a file, replacing an older one at once."""
    from safetensors.torch import save

    whole = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(progress)
    metadata = {"format": FORMAT, "progress": text, "sha256": _checksum(whole, text)}
    write_atomically(path, save(whole, metadata))


def _checksum(tensors: Mapping[str, Tensor], progress: str) -> str:
    digest = hashlib.sha256(progress.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).cpu().numpy().tobytes())
    return digest.hexdigest()


def load_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_checkpoint` wrote."""
    from safetensors import SafetensorError, safe_open

    try:
        check_regular(path, MAX_BYTES)
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if (found := metadata.get("format")) != FORMAT:
            raise ModelError(f"{path}: {format_mismatch(found, FORMAT, 'train again')}")
        if metadata["sha256"] != _checksum(tensors, metadata["progress"]):
            raise ValueError("its checksum does not match")
        progress = json.loads(metadata["progress"])
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise ModelError(
            f"{path} is not a complete checkpoint ({error}); delete it and train again"
        ) from None
    return tensors, progress


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Restore the optimiser's state from the tensors of a snapshot."""
    state = optimizer.state_dict()
    state["state"] = {}
    for name, value in part_of(tensors, "optimizer.").items():
        index, key = name.split(".", 1)
        state["state"].setdefault(int(index), {})[key] = value
    optimizer.load_state_dict(state)


def copy_tensors(
    tensors: Mapping[str, Tensor], into: dict[str, Tensor] | None = None
) -> dict[str, Tensor]:
    """Copy tensors, into the memory of an earlier copy where that has the same names."""
    if not into or into.keys() != tensors.keys():
        return {name: tensor.detach().clone() for name, tensor in tensors.items()}
    for name, tensor in tensors.items():
        into[name].copy_(tensor)
    return into
