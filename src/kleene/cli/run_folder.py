"""The folder of a training run: one process at a time, interruptible, resumable.

During training the folder holds `run.json` (settings and data) and, after the first checkpoint,
`checkpoint.safetensors`; at the end the model replaces the checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kleene.cli.console import say
from kleene.errors import ModelError, TrainingError
from kleene.files import read_regular, sweep, write_atomically

FORMAT = "kleene.run/1"
CHECKPOINT, RECORD, LOCK, STORE = "checkpoint.safetensors", "run.json", ".lock", "words.arrow"


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """A folder, and the settings and data of the run that owns it."""

    path: Path
    settings: dict[str, Any]
    digest: str
    """Tells one set of examples from another."""

    @property
    def checkpoint(self) -> Path:
        """The file of an unfinished run."""
        return self.path / CHECKPOINT

    @property
    def store(self) -> Path:
        """The file of encoded rows, if they are kept on disk."""
        return self.path / STORE

    def begin(self, *, resume: bool, overwrite: bool) -> bool:
        """Get the folder ready; False if the run is finished already."""
        sweep([self.checkpoint, self.path / RECORD])
        unfinished, trained = self.checkpoint.exists(), (self.path / "config.json").exists()
        if resume:
            if self._is_finished() and trained and not unfinished:
                return False
            if not unfinished:
                say(f"no interrupted run in {self.path}; starting a new one")
        elif overwrite or not (unfinished or trained):
            self.checkpoint.unlink(missing_ok=True)
            self.store.unlink(missing_ok=True)
        else:
            found = "an interrupted run; add --resume to continue it, or --overwrite to start again"
            if not unfinished:
                found = "a trained model; add --overwrite to replace it, or give another --out"
            raise TrainingError(f"{self.path} holds {found}")
        self._write_record(finished=False)
        return True

    def finish(self) -> None:
        """Say in the folder that the run is finished, and remove its leftovers."""
        from kleene.model_folder import FILES

        self._write_record(finished=True)
        self.checkpoint.unlink(missing_ok=True)
        sweep(self.path / name for name in FILES)

    def forget(self) -> None:
        """Remove the files of a run without a checkpoint."""
        if not self.checkpoint.exists():
            (self.path / RECORD).unlink(missing_ok=True)
            self.store.unlink(missing_ok=True)

    def interrupted(self, command: str) -> str:
        """The message after an interruption: how to continue, by this command."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            if self._record()["finished"]:
                return "interrupted after the model was saved"
        if self.checkpoint.exists():
            return f"interrupted; continue with `{command} --resume`"
        self.forget()
        return "interrupted before the first step; nothing was saved"

    def _is_finished(self) -> bool:
        """Whether the folder's run is finished; an error if it is another run than this."""
        try:
            record = self._record()
            settings, data, finished = record["settings"], record["data"], record["finished"]
            changed = [name for name in self.settings if settings.get(name) != self.settings[name]]
        except FileNotFoundError:
            return False
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            path = self.path / RECORD
            raise ModelError(f"{path} cannot be read ({error}); train with --overwrite") from None
        if changed or data != self.digest:
            what = ", ".join(changed) if changed else "the data"
            raise TrainingError(
                f"the run in {self.path} differs in {what}; --resume needs the same data and "
                "options, --overwrite starts again"
            )
        return bool(finished)

    def _record(self) -> Any:
        return json.loads(read_regular(self.path / RECORD))

    def _write_record(self, *, finished: bool) -> None:
        about = {"format": FORMAT, "finished": finished}
        about |= {"settings": self.settings, "data": self.digest}
        write_atomically(self.path / RECORD, json.dumps(about, indent=2))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder and keep other processes out. Remove the folder if it stays empty."""
        from filelock import FileLock, Timeout

        made = not self.path.exists()
        lock = FileLock(self.path / LOCK, timeout=0)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout:
            raise TrainingError(
                f"another process is training into {self.path}; wait for it, or give another --out"
            ) from None
        except OSError as error:
            reason = error.strerror or error
            raise ModelError(
                f"cannot use {self.path} as the model folder: {reason}; give another --out"
            ) from None
        try:
            yield
        finally:
            (self.path / LOCK).unlink(missing_ok=True)  # while it is held: later it is another's
            lock.release()
            if made and not any(self.path.iterdir()):
                self.path.rmdir()
