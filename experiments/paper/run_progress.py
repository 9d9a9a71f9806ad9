"""How far many runs are: two bars at a terminal (all runs, and this one), lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kleene.cli.console import say
from kleene.training.progress import Quiet, bar_console, bar_width

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from kleene.training.history import Epoch
    from kleene.training.stages import Stage


class Runs(Quiet):
    """A `Reporter` that counts runs and shows how training goes in the present one."""

    def __init__(self) -> None:
        self._bars: Progress | None = None
        self._all: TaskID | None = None
        self._one: TaskID | None = None
        self._name, self._number, self._total = "", 0, 0

    @contextmanager
    def counting(self, total: int) -> Iterator[None]:
        """Around all runs."""
        self._total = total
        if not sys.stderr.isatty() or not total:
            yield
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = bar_console()
        shown = (
            TextColumn("{task.description:<16}"),
            BarColumn(bar_width=bar_width(console)),
            TextColumn("{task.fields[outcome]}"),
        )
        with Progress(*shown, TimeElapsedColumn(), console=console) as self._bars:
            self._all = self._bars.add_task("all runs", total=total, outcome="")
            yield
        self._bars = None

    def start(self, name: str) -> None:
        """The next run."""
        self._name, self._number = name, self._number + 1
        if self._bars is not None:
            self._one = self._bars.add_task(name, total=None, outcome="")

    def finish(self, outcome: str) -> None:
        """End of this run, or of one that was done before."""
        if self._bars is None or self._all is None or self._one is None:
            say(f"{self._number} of {self._total}: {self._name}: {outcome}")
            return
        self._bars.update(self._one, total=1, completed=1, outcome=outcome)
        count = f"{self._number} of {self._total}"
        self._bars.update(self._all, completed=self._number, outcome=count)

    def begin(self, stage: Stage) -> None:
        """A stage of training starts."""
        if self._bars is not None and self._one is not None:
            self._bars.update(self._one, total=stage.epochs, completed=0)

    def step(self, stage: Stage, epoch: int, done: float) -> None:
        """A share of an epoch is done."""
        if self._bars is not None and self._one is not None:
            self._bars.update(self._one, completed=epoch + done)

    def end(self, epoch: Epoch) -> None:
        """An epoch is over."""
        outcome = f"{epoch.stage} {epoch.epoch + 1}: loss {epoch.loss:.4f}, {epoch.accuracy:.1%}"
        if epoch.validation_accuracy is not None:
            outcome += f", validation {epoch.validation_accuracy:.1%}"
        if self._bars is not None and self._one is not None:
            self._bars.update(self._one, outcome=outcome)
        elif epoch.validation_accuracy is not None:
            say(f"{self._name}: {outcome}")
