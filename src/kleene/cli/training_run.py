"""A training run in its folder: one process at a time, interruptible, resumable.

During training the folder holds `run.json` (settings and data) and, after the first checkpoint,
`checkpoint.safetensors`; at the end the model replaces the checkpoint.
"""

from __future__ import annotations

import json
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.console import say
from kleene.cli.training_source import STORE, TrainingSource
from kleene.cli.training_summary import summarize
from kleene.distributed import SINGLE_PROCESS, ProcessGroup
from kleene.errors import KleeneError, ModelError, SettingError, TrainingError
from kleene.files import read_regular, sweep, write_atomically

if TYPE_CHECKING:
    from kleene.cli.input import DataSource
    from kleene.estimator import Prepared, SequenceClassifier
    from kleene.training.progress import Reporter
    from kleene.training.run import Run
    from kleene.web.watch import Watch

FORMAT = "kleene.run/1"
CHECKPOINT, RECORD, LOCK = "checkpoint.safetensors", "run.json", ".lock"
STOPS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """Settings, examples and the folder of a run."""

    folder: Path
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

    def train(
        self, *, resume: bool, overwrite: bool, watched: bool = False
    ) -> dict[str, Any] | None:
        """Train or continue, save the model, and return its figures.

        Only the first of several processes has the folder and the figures.
        """
        import torch

        from kleene.estimator import SequenceClassifier
        from kleene.training.run import Run

        torch.set_num_threads(self.threads)
        started = time.monotonic()
        estimator = SequenceClassifier(**self.settings)
        prepared = self.source.prepare(estimator)
        run = Run(
            seed=self.settings["random_state"],
            checkpoint=self.checkpoint,
            checkpoint_every=self.checkpoint_every,
            processes=self.process_group,
        )
        if not self.process_group.is_main:
            self._help(estimator, run)
            return None
        with _locked(self.folder), _stoppable(), self._explained_interrupts():
            if self.process_group.broadcast_object(self._begin(resume, overwrite)):
                self._fit(estimator, run, prepared, watched=watched)
            else:
                say(f"the run in {self.folder} is finished; nothing to do")
                estimator = SequenceClassifier.load(self.folder)
            seconds = time.monotonic() - started
            try:
                return summarize(estimator.model, self.folder, seconds, self.test)
            finally:
                (self.folder / STORE).unlink(missing_ok=True)

    def _fit(
        self,
        estimator: SequenceClassifier,
        run: Run,
        prepared: Prepared | None,
        *,
        watched: bool,
    ) -> None:
        """Fit the estimator and save its model; nothing stays in the folder after an error."""
        from kleene.model_folder import FILES
        from kleene.training.progress import Bar, Quiet

        reporter: Reporter = Bar() if sys.stderr.isatty() else Quiet()
        watch = None
        try:
            if watched:
                reporter = watch = _watch(prepared, reporter)
            hook = None if watch is None else watch.hook
            run = replace(run, reporter=reporter, hook=hook)
            self.source.fit(estimator, self.folder, run, baseline=self.baseline)
            estimator.model_ = replace(estimator.model, layout=self.source.layout)
            estimator.save(self.folder)
        except KleeneError:
            self._forget()
            raise
        finally:
            if watch is not None:
                watch.finish(getattr(estimator, "model_", None))
        self._write_record(finished=True)
        self.checkpoint.unlink(missing_ok=True)
        sweep(self.folder / name for name in FILES)

    def _help(self, estimator: SequenceClassifier, run: Run) -> None:
        """Work as one of the further processes."""
        with _stoppable():
            if self.process_group.broadcast_object():
                self.source.fit(estimator, self.folder, run, baseline=False)

    @property
    def checkpoint(self) -> Path:
        """The file of an unfinished run."""
        return self.folder / CHECKPOINT

    def _begin(self, resume: bool, overwrite: bool) -> bool:
        """Get the folder ready; False when the run is finished already."""
        sweep([self.checkpoint, self.folder / RECORD])
        unfinished = self.checkpoint.exists()
        if resume:
            finished = self._check_record() and not unfinished
            if finished and (self.folder / "config.json").exists():
                return False
            if not unfinished:
                say(f"no interrupted run in {self.folder}; starting a new one")
        elif (self.folder / "config.json").exists() and not unfinished and not overwrite:
            raise TrainingError(
                f"{self.folder} holds a trained model; add --overwrite to replace it, "
                "or give another --out"
            )
        elif unfinished and not overwrite:
            raise TrainingError(
                f"{self.folder} holds an interrupted run; add --resume to continue it, "
                "or --overwrite to start again"
            )
        else:
            self.checkpoint.unlink(missing_ok=True)
            (self.folder / STORE).unlink(missing_ok=True)
        self._write_record(finished=False)
        return True

    def _check_record(self) -> bool:
        """Whether the folder's run is finished; an error when it is another run than this."""
        path = self.folder / RECORD
        try:
            record = json.loads(read_regular(path))
            settings, data = dict(record["settings"]), record["data"]
            finished = record["finished"]
        except FileNotFoundError:
            return False
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path} cannot be read ({error}); train with --overwrite") from None
        ours = self._record(finished=False)["settings"]
        changed = [name for name, value in ours.items() if settings.get(name) != value]
        if changed or data != self.source.digest:
            what = ", ".join(changed) if changed else "the data"
            raise TrainingError(
                f"the run in {self.folder} differs in {what}; --resume needs the same data and "
                "options, --overwrite starts again"
            )
        return bool(finished)

    def _record(self, *, finished: bool) -> dict[str, Any]:
        settings = {**self.settings, "threads": self.threads}  # threads decide the order of sums
        about = {"format": FORMAT, "finished": finished, "settings": settings}
        return {**about, "data": self.source.digest}

    def _write_record(self, *, finished: bool) -> None:
        write_atomically(
            self.folder / RECORD, json.dumps(self._record(finished=finished), indent=2)
        )

    def _forget(self) -> None:
        """Remove the files of a run without a checkpoint."""
        if not self.checkpoint.exists():
            (self.folder / RECORD).unlink(missing_ok=True)
            (self.folder / STORE).unlink(missing_ok=True)

    @contextmanager
    def _explained_interrupts(self) -> Iterator[None]:
        """Say how to continue, whenever the run is interrupted."""
        try:
            yield
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt(str(error) or self._how_to_continue()) from None

    def _how_to_continue(self) -> str:
        with suppress(OSError, ValueError, KeyError, TypeError):
            if json.loads(read_regular(self.folder / RECORD))["finished"]:
                return "interrupted after the model was saved"
        if not self.checkpoint.exists():
            self._forget()
            return "interrupted before the first step; nothing was saved"
        arguments = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
        command = "kleene"
        if self.process_group.world_size > 1:
            command = f"torchrun --nproc-per-node {self.process_group.world_size} -m kleene"
        return f"interrupted; continue with `{command} {shlex.join(arguments)} --resume`"


def _watch(prepared: Prepared | None, inner: Reporter) -> Watch:
    """A page that shows the run, opened in a browser if there is one."""
    import webbrowser

    from kleene.web.watch import Watch

    if prepared is None or prepared.words is None:
        raise SettingError("--watch needs examples in memory; leave it out, or add --no-stream")
    model = prepared.model
    watch = Watch(prepared.words, model.classes, model.alphabet, inner=inner)
    say(f"watch the run on {watch.page}")
    webbrowser.open(watch.page)
    return watch


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make the folder and keep other processes out. Remove the folder if it stays empty."""
    from filelock import FileLock, Timeout

    made = not folder.exists()
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise TrainingError(
            f"another process is training into {folder}; wait for it, or give another --out"
        ) from None
    except OSError as error:
        reason = error.strerror or error
        raise ModelError(
            f"cannot use {folder} as the model folder: {reason}; give another --out"
        ) from None
    try:
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)  # while it is held: later it may be another's
        lock.release()
        if made and not any(folder.iterdir()):
            folder.rmdir()


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM and a terminal that closes end a run as Ctrl-C does."""

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
