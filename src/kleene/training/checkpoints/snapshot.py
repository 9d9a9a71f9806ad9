"""A snapshot from which a training run can continue, in memory and on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from kleene.errors import TrainingError
from kleene.training.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from kleene.training.history import History

BEST, CELL = "best.", "cell."


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
    best: dict[str, Tensor]
    """The weights with the best held-out accuracy."""
    cell: dict[str, Tensor]
    """The weights at the end of the last stage without states."""
    progress: dict[str, Any]
    epochs: int


def save_snapshot(path: Path, snapshot: Snapshot, run: Mapping[str, Any], history: History) -> None:
    """Write a snapshot; `run` identifies the run it belongs to."""
    best = {f"{BEST}{name}": tensor for name, tensor in snapshot.best.items()}
    cell = {f"{CELL}{name}": tensor for name, tensor in snapshot.cell.items()}
    done = History(history.epochs[: snapshot.epochs])
    about = {"run": dict(run), "progress": snapshot.progress, "history": done.to_dict()}
    save_checkpoint(path, {**snapshot.tensors, **best, **cell}, about)


def load_snapshot(path: Path, run: Mapping[str, Any]) -> tuple[Snapshot, History]:
    """Read a snapshot of the same run, and the epochs before it."""
    tensors, about = load_checkpoint(path)
    try:
        if differ := [key for key, value in run.items() if about["run"][key] != value]:
            raise ValueError(f"another {', '.join(differ)}")
        history = History.from_dict(about["history"])
        progress = dict(about["progress"])
    except (KeyError, TypeError, ValueError) as error:
        raise another_run(path, error) from None
    best, cell = (
        {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        for prefix in (BEST, CELL)
    )
    found = Snapshot(tensors=tensors, best=best, cell=cell, progress=progress, epochs=len(history))
    return found, history


def another_run(path: Path, error: Exception) -> TrainingError:
    """The error for a checkpoint that does not fit."""
    return TrainingError(
        f"{path} belongs to another run ({error}); "
        "train without --resume, or with the settings of that run"
    )


def copy_tensors(
    tensors: Mapping[str, Tensor], into: dict[str, Tensor] | None = None
) -> dict[str, Tensor]:
    """Copy tensors, into the memory of an earlier copy where that has the same names."""
    if not into or into.keys() != tensors.keys():
        return {name: tensor.detach().clone() for name, tensor in tensors.items()}
    for name, tensor in tensors.items():
        into[name].copy_(tensor)
    return into
