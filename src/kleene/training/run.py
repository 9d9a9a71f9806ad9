"""What a training run carries along: seed, progress bar, hook, checkpoint file, processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kleene.distributed import SINGLE_PROCESS, ProcessGroup
from kleene.nn.classifier import Classifier
from kleene.training.history import Epoch
from kleene.training.progress import Reporter

Hook = Callable[[Classifier, Epoch], Mapping[str, float] | None]
"""Called after every epoch; what it returns is kept in the history as the epoch's notes."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One value for what every step of `fit` needs besides model and rows."""

    seed: int = 0
    reporter: Reporter | None = None
    hook: Hook | None = None
    checkpoint: Path | None = None
    """The file that the run is saved to, and continued from where it exists."""
    checkpoint_every: float = 30.0
    """Minimum number of seconds between two checkpoints."""
    processes: ProcessGroup = SINGLE_PROCESS

    @property
    def bar(self) -> Reporter:
        """The reporter, or one that says nothing."""
        return self.reporter or Reporter()

    @property
    def without_checkpoint(self) -> Run:
        """The same run for a step that is not saved on the way."""
        return replace(self, checkpoint=None, processes=SINGLE_PROCESS)
