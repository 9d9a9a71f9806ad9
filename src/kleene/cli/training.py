"""One training run, alone or as one of several processes."""

from __future__ import annotations

import hashlib
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.console import say
from kleene.cli.data import DataSource
from kleene.cli.run_folder import RunFolder
from kleene.data.files import Data
from kleene.data.fingerprint import file_digest
from kleene.data.store import encode, open_store
from kleene.distributed import ProcessGroup
from kleene.errors import DataError, KleeneError

if TYPE_CHECKING:
    from kleene.model import Model

BOUNDS = ("max_symbols", "min_count")  # of the alphabet
STOPS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """Settings and examples of a run, and the folder it writes."""

    out: Path
    settings: dict[str, Any]
    source: DataSource
    data: Data | None
    """The examples; None where they are encoded into a file and read from there."""
    threads: int
    checkpoint_every: float
    baseline: bool
    """Whether n-grams are fitted to the same rows, for comparison."""
    process_group: ProcessGroup

    @classmethod
    def open(
        cls, source: DataSource, settings: dict[str, Any], *, stream: bool | None, **more: Any
    ) -> TrainingRun:
        """Read the examples, or find out how to read them if they stay on disk."""
        if source.path == "-" and (stream or more["process_group"].world_size > 1):
            raise DataError(
                "--stream and several processes read the data more than once; name a file instead "
                "of standard input"
            )
        tokens, data = settings["tokens"], None
        if source.is_large if stream is None else stream:
            source, tokens = source.locate(tokens)
        else:
            data = source.read(tokens)
            source, tokens = replace(source, layout=data.layout), data.tokens
        return cls(source=source, data=data, settings={**settings, "tokens": tokens}, **more)

    @cached_property
    def digest(self) -> str:
        """A digest of the examples and of how they are read."""
        if self.data is None:
            return file_digest(self.source.path, self.source.layout.to_dict())
        total = hashlib.sha256()
        for row in zip(self.data.words, self.data.labels or [], strict=True):
            total.update(repr(row).encode("utf-8", "surrogatepass"))
        return total.hexdigest()

    def train(self, *, resume: bool, overwrite: bool) -> Model | None:
        """Train or continue, and save the model.

        Only the first of several processes has the folder and the model.
        """
        import torch

        from kleene.estimator import SequenceClassifier
        from kleene.training.progress import Bar, Reporter
        from kleene.training.run import Run

        torch.set_num_threads(self.threads)
        group, estimator = self.process_group, SequenceClassifier(**self.settings)
        rows: tuple[Any, Any] = ["a", "b"], [0, 1]  # where the rows are on disk
        if self.data is not None:
            rows = self.data.words, self.data.labels or []
        prepared = estimator.prepare(*rows)  # checks the settings before any work is done
        settings = {**self.settings, "threads": self.threads}  # threads decide the order of sums
        digest = self.digest if group.is_main else ""
        folder = RunFolder(path=self.out, settings=settings, digest=digest)
        run = Run(
            seed=self.settings["random_state"],
            reporter=Bar() if sys.stderr.isatty() and group.is_main else Reporter(),
            checkpoint=folder.checkpoint,
            checkpoint_every=self.checkpoint_every,
            processes=group,
        )

        def fit() -> None:
            baseline = self.baseline and group.is_main
            if self.data is not None:
                estimator.fit_prepared(prepared, run, baseline=baseline)
                return
            if group.is_main:
                say(f"encoding {self.source.name} into {folder.store}")
                tokens = self.settings["tokens"]
                bounds = {k: v for k, v in self.settings["training"].items() if k in BOUNDS}
                encode(
                    folder.store,
                    self.source.each(tokens, stage="encoding"),
                    tokens=tokens,
                    **bounds,
                )
            group.broadcast()  # the other processes wait
            estimator.fit_stored(open_store(folder.store), run, baseline=baseline)

        if not group.is_main:
            with self._interruptible(None):
                if group.broadcast():
                    fit()
            return None
        with folder.locked(), self._interruptible(folder):
            if group.broadcast(folder.begin(resume=resume, overwrite=overwrite)):
                try:
                    fit()
                    estimator.model_ = replace(estimator.model, layout=self.source.layout)
                    estimator.save(self.out)
                except KleeneError:
                    folder.forget()
                    raise
                folder.finish()
            else:
                say(f"the run in {self.out} is finished; nothing to do")
                estimator = SequenceClassifier.load(self.out)
            folder.store.unlink(missing_ok=True)
            return estimator.model

    @contextmanager
    def _interruptible(self, folder: RunFolder | None) -> Iterator[None]:
        """Let SIGTERM and a closed terminal end a run as Ctrl-C does, and say how to continue."""
        main, ignored = threading.current_thread() is threading.main_thread(), signal.SIG_IGN
        handled = [s for s in STOPS if main and signal.getsignal(s) is not ignored]  # as in nohup
        before = {one: signal.signal(one, signal.default_int_handler) for one in handled}
        try:
            yield
        except KeyboardInterrupt as error:
            if folder is None or str(error):
                raise
            typed = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
            count = self.process_group.world_size
            program = "kleene" if count == 1 else f"torchrun --nproc-per-node {count} -m kleene"
            raise KeyboardInterrupt(folder.interrupted(f"{program} {shlex.join(typed)}")) from None
        finally:
            for signum, handler in before.items():
                signal.signal(signum, handler)
