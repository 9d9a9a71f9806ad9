"""One training run, alone or as one of several processes."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.console import say
from kleene.cli.run_folder import RunFolder
from kleene.cli.training_source import TrainingSource
from kleene.cli.training_summary import summarize
from kleene.distributed import SINGLE_PROCESS, ProcessGroup
from kleene.errors import KleeneError

if TYPE_CHECKING:
    from kleene.cli.input import DataSource
    from kleene.estimator import SequenceClassifier
    from kleene.training.progress import Reporter
    from kleene.training.run import Run

STOPS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """Settings, examples and the folder of a run."""

    out: Path
    settings: dict[str, Any]
    source: TrainingSource
    threads: int = 1
    checkpoint_every: float = 30.0
    """Seconds between checkpoints."""
    baseline: bool = True
    """Whether n-grams are fitted to the same rows, for comparison."""
    test: DataSource | None = None
    """Further rows on which the trained network is measured."""
    process_group: ProcessGroup = SINGLE_PROCESS

    def train(self, *, resume: bool, overwrite: bool) -> dict[str, Any] | None:
        """Train or continue, save the model, and return its figures.

        Only the first of several processes has the folder and the figures.
        """
        import torch

        from kleene.estimator import SequenceClassifier
        from kleene.training.run import Run

        torch.set_num_threads(self.threads)
        started = time.monotonic()
        estimator = SequenceClassifier(**self.settings)
        self.source.prepare(estimator)
        ordered = {**self.settings, "threads": self.threads}  # threads decide the order of sums
        folder = RunFolder(path=self.out, settings=ordered, source=self.source)
        run = Run(
            seed=self.settings["random_state"],
            checkpoint=folder.checkpoint,
            checkpoint_every=self.checkpoint_every,
            processes=self.process_group,
        )
        if not self.process_group.is_main:
            with _stoppable():
                if self.process_group.broadcast_object():
                    self.source.fit(estimator, folder.store, run, baseline=False)
            return None
        with folder.locked(), _stoppable(), self._explained_interrupts(folder):
            begun = folder.begin(resume=resume, overwrite=overwrite)
            if self.process_group.broadcast_object(begun):
                self._fit(estimator, folder, run)
            else:
                say(f"the run in {self.out} is finished; nothing to do")
                estimator = SequenceClassifier.load(self.out)
            seconds = time.monotonic() - started
            try:
                return summarize(estimator.model, self.out, seconds, self.test)
            finally:
                folder.store.unlink(missing_ok=True)

    def _fit(self, estimator: SequenceClassifier, folder: RunFolder, run: Run) -> None:
        """Fit the estimator and save its model; nothing stays in the folder after an error."""
        from kleene.training.progress import Bar, Reporter

        reporter: Reporter = Bar() if sys.stderr.isatty() else Reporter()
        try:
            run = replace(run, reporter=reporter)
            self.source.fit(estimator, folder.store, run, baseline=self.baseline)
            estimator.model_ = replace(estimator.model, layout=self.source.layout)
            estimator.save(self.out)
        except KleeneError:
            folder.forget()
            raise
        folder.finish()

    @contextmanager
    def _explained_interrupts(self, folder: RunFolder) -> Iterator[None]:
        """Say how to continue if the run is interrupted."""
        try:
            yield
        except KeyboardInterrupt as error:
            typed = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
            count = self.process_group.world_size
            program = "kleene" if count == 1 else f"torchrun --nproc-per-node {count} -m kleene"
            message = str(error) or folder.interrupted(f"{program} {shlex.join(typed)}")
            raise KeyboardInterrupt(message) from None


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM and a closed terminal end a run as Ctrl-C does."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = [s for s in STOPS if signal.getsignal(s) is not signal.SIG_IGN]  # such as under nohup
    before = {signum: signal.signal(signum, stop) for signum in handled}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
