"""A moment from which a training run can go on, in memory and on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from kleene.errors import TrainingError
from kleene.training.checkpoint import load_checkpoint, save_checkpoint
from kleene.training.history import History

BEST = "best."


@dataclass
class Progress:
    """Where a run stands: all that the loop carries from step to step, as plain numbers."""

    stage: int = 0
    epoch: int = 0
    step: int = 0
    limit: float | None = None
    level_steps: int = 0
    best_accuracy: float = -1.0
    best_loss: float = float("inf")
    stale: int = 0
    rate: float = 1.0
    failures: int = 0
    loss: float = 0.0
    right: int = 0
    words: int = 0


@dataclass(frozen=True, kw_only=True)
class Moment:
    """Everything a run can go on from; replaced whole, so that an interrupt never sees half."""

    tensors: dict[str, Tensor]
    """Weights and the optimiser's memory."""
    best: dict[str, Tensor]
    """The weights that did best on the validation words."""
    progress: dict[str, Any]
    epochs: int


def save_moment(path: Path, moment: Moment, run: Mapping[str, Any], history: History) -> None:
    """Write a moment; `run` says which run it is of."""
    best = {f"{BEST}{name}": tensor for name, tensor in moment.best.items()}
    done = History(history.epochs[: moment.epochs])
    about = {"run": dict(run), "progress": moment.progress, "history": done.to_dict()}
    save_checkpoint(path, {**moment.tensors, **best}, about)


def load_moment(path: Path, run: Mapping[str, Any]) -> tuple[Moment, History]:
    """Read a moment of the same run, and the epochs before it."""
    tensors, about = load_checkpoint(path)
    try:
        if differ := [key for key, value in run.items() if about["run"][key] != value]:
            raise ValueError(f"not the same: {', '.join(differ)}")
        history = History.from_dict(about["history"])
        progress = dict(about["progress"])
    except (KeyError, TypeError, ValueError) as error:
        raise another_run(path, error) from None
    best = {n[len(BEST) :]: t for n, t in tensors.items() if n.startswith(BEST)}
    return Moment(tensors=tensors, best=best, progress=progress, epochs=len(history)), history


def another_run(path: Path, error: Exception) -> TrainingError:
    """The error for a checkpoint that does not fit."""
    return TrainingError(
        f"{path} belongs to another run ({error}); "
        "train without --resume, or with the settings of that run"
    )


def copy_tensors(
    tensors: Mapping[str, Tensor], into: dict[str, Tensor] | None = None
) -> dict[str, Tensor]:
    """A copy of some tensors, in the memory of an earlier copy where that has the same names."""
    if not into or into.keys() != tensors.keys():
        return {name: tensor.detach().clone() for name, tensor in tensors.items()}
    for name, tensor in tensors.items():
        into[name].copy_(tensor)
    return into
