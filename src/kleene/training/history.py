"""What happened during training, epoch by epoch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

from kleene.errors import ModelError


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """The figures of one epoch."""

    stage: str
    epoch: int
    loss: float
    accuracy: float
    """On the training words of this epoch, while training."""
    words: int
    rate: float
    seconds: float
    limit: float | None = None
    """How hard the words were that the curriculum admitted."""
    states: int | None = None
    """How many states the words of the last batch visited."""
    temperature: float | None = None
    validation_loss: float | None = None
    validation_accuracy: float | None = None
    notes: dict[str, float] = field(default_factory=dict)
    """What a hook had to say."""


_OPTIONAL = ("limit", "states", "temperature", "validation_loss", "validation_accuracy")
_FIGURES = ("epoch", "loss", "accuracy", "words", "rate", "seconds", *_OPTIONAL)


@dataclass
class History:
    """All epochs of a training run, in order."""

    epochs: list[Epoch] = field(default_factory=list)

    def __len__(self) -> int:
        """How many epochs were run."""
        return len(self.epochs)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"format": "kleene.history/1", "epochs": [asdict(epoch) for epoch in self.epochs]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> History:
        """The history that `to_dict` wrote; figures that are not finite numbers are refused."""
        epochs = [Epoch(**epoch) for epoch in values["epochs"]]
        for i, epoch in enumerate(epochs):
            for name in _FIGURES:
                value = getattr(epoch, name)
                missing = value is None and name in _OPTIONAL
                if not missing and not (type(value) in (int, float) and isfinite(value)):
                    raise ModelError(
                        f"{name} of epoch {i} must be a finite number, got {value!r:.40}"
                    )
            if not isinstance(epoch.stage, str):
                raise ModelError(f"stage of epoch {i} must be text, got {epoch.stage!r:.40}")
            if not isinstance(epoch.notes, dict) or any(
                isinstance(value, list | dict) for value in epoch.notes.values()
            ):
                raise ModelError(f"notes of epoch {i} must be a dictionary of plain values")
        return cls(epochs)

    def curve(self, name: str) -> list[Any]:
        """One figure over all epochs, such as `loss` or `accuracy`."""
        return [getattr(epoch, name) for epoch in self.epochs]
