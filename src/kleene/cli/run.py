"""A training run in its folder: one process at a time, interruptible, resumable.

While it runs the folder holds `run.json` (what is being trained, on what) and now and then
`checkpoint.safetensors`; at the end the model takes the place of the latter.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.console import say
from kleene.errors import KleeneError, ModelError, TrainingError
from kleene.files import write_atomically
from kleene.machine import Label, Word

if TYPE_CHECKING:
    from kleene.estimator import SequenceClassifier
    from kleene.train.progress import Reporter
    from kleene.web.watch import Watch

FORMAT = "kleene.run/1"
CHECKPOINT, RECORD, LOCK = "checkpoint.safetensors", "run.json", ".lock"


@dataclass(frozen=True, kw_only=True)
class Run:
    """What is trained, on what, and where it is kept."""

    folder: Path
    settings: dict[str, Any]
    data: str
    """Digest of the words and labels."""
    threads: int = 1
    every: float = 30.0
    """Seconds between checkpoints."""

    def train(
        self,
        words: Sequence[Word],
        labels: Sequence[Label],
        *,
        resume: bool,
        overwrite: bool,
        watched: bool = False,
    ) -> dict[str, Any]:
        """Train, or go on, and save the model; the result are figures for the user."""
        import torch

        from kleene.estimator import SequenceClassifier
        from kleene.train.progress import Bar, Quiet

        torch.set_num_threads(self.threads)
        started = time.monotonic()
        estimator = SequenceClassifier(**self.settings)
        estimator.check(words, labels)
        with _locked(self.folder), _stoppable():
            if self._begin(resume, overwrite):
                reporter = Bar() if sys.stderr.isatty() else Quiet()
                watch = self._watch(words, labels, reporter) if watched else None
                try:
                    estimator.fit(
                        words,
                        labels,
                        checkpoint=self.checkpoint,
                        every=self.every,
                        reporter=watch or reporter,
                        hook=None if watch is None else watch.hook,
                    )
                    estimator.save(self.folder)
                except KeyboardInterrupt:
                    raise KeyboardInterrupt(self._how_to_go_on()) from None
                except KleeneError:
                    self._forget()
                    raise
                finally:
                    if watch is not None:
                        watch.finish(getattr(estimator, "model_", None))
                self._write_record(finished=True)
                self.checkpoint.unlink(missing_ok=True)
            else:
                say(f"{self.folder} is finished; nothing is left to do")
                estimator = SequenceClassifier.load(self.folder)
        return self._summary(estimator, words, labels, time.monotonic() - started)

    def _watch(self, words: Sequence[Word], labels: Sequence[Label], inner: Reporter) -> Watch:
        """A page on which the run can be watched, opened in a browser where there is one."""
        import webbrowser

        from kleene.data.alphabet import Alphabet
        from kleene.data.given import as_classes
        from kleene.web.watch import Watch

        bounds = self.settings["max_symbols"], self.settings["min_count"]
        classes = as_classes(words, labels)[1]
        watch = Watch(words, classes, Alphabet.from_words(words, *bounds), inner=inner)
        say(f"watch the run on {watch.page}")
        webbrowser.open(watch.page)
        return watch

    @property
    def checkpoint(self) -> Path:
        """The file of an unfinished run."""
        return self.folder / CHECKPOINT

    def _begin(self, resume: bool, overwrite: bool) -> bool:
        """Get the folder ready; False when the run is finished already."""
        unfinished = self.checkpoint.exists()
        if resume:
            finished = self._check_record() and not unfinished
            if finished and (self.folder / "config.json").exists():
                return False
            if not unfinished:
                say(f"{self.folder} holds no interrupted run; training starts anew")
        elif unfinished and not overwrite:
            raise TrainingError(
                f"{self.folder} holds a run that was interrupted; add --resume to go on with it, "
                "or --overwrite to start anew"
            )
        else:
            self.checkpoint.unlink(missing_ok=True)
        self._write_record(finished=False)
        return True

    def _check_record(self) -> bool:
        """Whether the folder's run is finished; an error when it is another run than this."""
        path = self.folder / RECORD
        try:
            record = json.loads(path.read_bytes())
            settings, data, finished = record["settings"], record["data"], record["finished"]
        except FileNotFoundError:
            return False
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path} cannot be read ({error}); train with --overwrite") from None
        ours = self._record(finished=False)["settings"]
        changed = [name for name, value in ours.items() if settings.get(name) != value]
        if changed or data != self.data:
            what = ", ".join(changed) if changed else "the data"
            raise TrainingError(
                f"the run in {self.folder} differs in {what}; --resume needs the same data and "
                "options, --overwrite starts anew"
            )
        return bool(finished)

    def _record(self, *, finished: bool) -> dict[str, Any]:
        settings = {**self.settings, "threads": self.threads}  # which order sums, so the last bits
        return {"format": FORMAT, "finished": finished, "settings": settings, "data": self.data}

    def _write_record(self, *, finished: bool) -> None:
        write_atomically(
            self.folder / RECORD, json.dumps(self._record(finished=finished), indent=2)
        )

    def _forget(self) -> None:
        """Leave no trace of a run of which nothing is kept."""
        if not self.checkpoint.exists():
            (self.folder / RECORD).unlink(missing_ok=True)

    def _how_to_go_on(self) -> str:
        if not self.checkpoint.exists():
            self._forget()
            return "interrupted before the first step; nothing was kept"
        arguments = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
        return f"interrupted; go on with `kleene {shlex.join(arguments)} --resume`"

    def _summary(
        self,
        estimator: SequenceClassifier,
        words: Sequence[Word],
        labels: Sequence[Label],
        seconds: float,
    ) -> dict[str, Any]:
        model = estimator.model
        return {
            "model": str(self.folder),
            "words": len(words),
            "classes": len(model.classes),
            "symbols": len(model.alphabet.symbols),
            "accuracy": float(estimator.score(words, labels)),
            "states": model.network.rnn.num_states,
            "steps": list(getattr(estimator, "reading_", ())),
            "seconds": round(seconds, 3),
        }


def digest(words: Sequence[Word], labels: Sequence[Label]) -> str:
    """A number that tells these examples from others."""
    total = hashlib.sha256()
    for word, label in zip(words, labels, strict=True):
        total.update(repr((word, label)).encode("utf-8", "surrogatepass"))
    return total.hexdigest()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make the folder and keep others out; a folder in which nothing came to be goes again."""
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
        lock.release()
        (folder / LOCK).unlink(missing_ok=True)
        if made and not any(folder.iterdir()):
            folder.rmdir()


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM end a run as Ctrl-C does."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
