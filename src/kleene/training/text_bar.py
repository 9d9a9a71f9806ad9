"""A progress bar of characters on one line, for consoles and notebooks."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TextIO

from kleene.training.history import Epoch
from kleene.training.progress import PREPARING, Lasting, epoch_figures
from kleene.training.stages import Stage


class TextBar:
    """Is told what happens, and writes it over the same line; each stage has a line."""

    WIDTH = 24

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._figures = ""
        self._done = -1

    def __enter__(self) -> TextBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._write("\n")

    def begin(self, stage: Stage) -> None:
        """A stage starts."""
        if self._done >= 0:
            self._write("\n")
        self._figures, self._done = "", 0
        if stage.prepare is not None:
            self._write(f"\r{stage.name:<10} {PREPARING}".ljust(100))

    def step(self, stage: Stage, epoch: int, done: float) -> None:
        """Move the bar, where that shows."""
        filled = int(self.WIDTH * (epoch + done) / stage.epochs)
        if filled != self._done:
            self._done = filled
            self._show(stage.name, epoch)

    def end(self, epoch: Epoch) -> None:
        """Show the figures of the epoch."""
        self._figures = "  ".join(epoch_figures(epoch))
        self._show(epoch.stage, epoch.epoch + 1)

    def _show(self, name: str, epoch: int) -> None:
        bar = "#" * self._done + "-" * (self.WIDTH - self._done)
        self._write(f"\r{name:<10} [{bar}] epoch {epoch}  {self._figures}".ljust(100))

    def _write(self, text: str) -> None:
        stream = Lasting(self._stream or sys.stderr)
        stream.write(text)
        stream.flush()
