"""What a person at a terminal sees while a network trains; silence elsewhere."""

from __future__ import annotations

import sys
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO, cast

from kleene.evaluation.percent import percent
from kleene.training.history import Epoch
from kleene.training.stages import Stage

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


class Reporter:
    """Training callbacks, around the whole run; this one says nothing."""

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def begin(self, stage: Stage) -> None:
        """A stage starts."""

    def step(self, stage: Stage, epoch: int, done: float) -> None:
        """A share of an epoch is done."""

    def end(self, epoch: Epoch) -> None:
        """An epoch is over."""


class Lasting:
    """A stream that takes what it can: a run goes on when its terminal is gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, or drop the text."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, or leave it."""
        with suppress(OSError):
            self._stream.flush()


PREPARING = "getting ready"  # until the first step of a stage
WIDE_TERMINAL = 110  # columns that show everything


def bar_console() -> Console:
    """Return a console for bars; it leaves room for the `^C` that a terminal writes after them."""
    from rich.console import Console

    stream = cast(TextIO, Lasting(sys.stderr))
    return Console(file=stream, width=max(Console(file=stream).width - 3, 20))


class Bar(Reporter):
    """One line per stage: loss, accuracy, states in use and the time that is left.

    On a narrow terminal the last figures are left out, so that a line is never broken in two.
    """

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._room = 0
        self._figures = ""

    def __enter__(self) -> Bar:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Remaining

        console = bar_console()
        wide = console.width >= WIDE_TERMINAL
        width = 24 if wide else 8
        columns = [
            TextColumn("{task.description:<10}"),
            BarColumn(bar_width=width),
            TextColumn("{task.fields[figures]}"),
            TimeElapsedColumn(),
            *((TextColumn("left at most"), Remaining()) if wide else ()),
        ]
        self._room = console.width - width - (42 if wide else 20)
        self._progress = Progress(*columns, console=console)
        self._task = None  # task ids belong to one Progress; a run may enter the bar several times
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            if kind is None:
                self._complete()
            self._progress.stop()

    def begin(self, stage: Stage) -> None:
        """A new line for a new stage."""
        if self._progress is not None:
            self._complete()
            figures = "" if stage.prepare is None else PREPARING
            self._task = self._progress.add_task(stage.name, total=stage.epochs, figures=figures)
            self._figures = ""

    def step(self, stage: Stage, epoch: int, done: float) -> None:
        """Move the bar."""
        self._move(epoch + done)

    def end(self, epoch: Epoch) -> None:
        """Show the figures of the epoch."""
        figures = [f"loss {epoch.loss:.4f}", f"accuracy {percent(epoch.accuracy)}"]
        if epoch.validation_accuracy is not None:
            figures.append(f"validation {percent(epoch.validation_accuracy)}")
        if epoch.states is not None:
            figures.append(f"{epoch.states} states")
        if epoch.limit is not None:
            figures.append(f"up to length {epoch.limit:.0f}")
        while len("  ".join(figures)) > self._room and len(figures) > 1:
            figures.pop()
        self._figures = "  ".join(figures)
        self._move(epoch.epoch + 1)

    def _move(self, done: float) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=done, figures=self._figures)

    def _complete(self) -> None:
        """Fill the bar of the present stage, which may have stopped before its last epoch."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=self._progress.tasks[-1].total)
