"""A workbench for faults: runs that can be hurt, and the run never hurt to compare them with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from kleene.errors import ModelError
from kleene.model import Model
from kleene.training.checkpoint import load_checkpoint

SMALL = ("--hidden-size", "8", "--embedding-size", "4", "--dropout", "0.1", "--learn-temperature")
KINDS = {
    "plain": (*SMALL, "--epochs", "3", "--checkpoint-every", "0", "--learn", "network"),
    "taught": (*SMALL, "--epochs", "1", "--checkpoint-every", "0"),
}
CHECKPOINT = "checkpoint.safetensors"
ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
PATIENCE = 300  # seconds that no healthy process needs


@dataclass(frozen=True)
class Outcome:
    """How a process ended: its status, minus the signal that ended it, and what it said."""

    status: int
    out: str
    err: str

    @property
    def one_clear_line(self) -> bool:
        """Whether it ended as a mistake of the user must end."""
        lines = self.err.splitlines()
        errors = [line for line in lines if line.startswith("kleene: error: ")]
        clean = all(line.startswith("kleene: ") for line in lines)
        ours = "internal error" not in self.err
        return self.status == 2 and len(errors) == 1 and clean and ours and not self.out


class Forker:
    """A process that forks others, one at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("forker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **dict.fromkeys(ONE_THREAD, "1")},
        )
        assert self._answer() == "ready"

    def start(self, *arguments: object, **trouble: object) -> Child:
        """Begin a command."""
        out, err = str(self.folder / "out"), str(self.folder / "err")
        order = {"arguments": list(map(str, arguments)), "out": out, "err": err, **trouble}
        print(json.dumps(order), file=self._process.stdin, flush=True)
        return Child(int(self._answer()), self)

    def run(self, *arguments: object, **trouble: object) -> Outcome:
        """Begin a command and wait for its end."""
        return self.start(*arguments, **trouble).wait()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the forker died"
        return line.strip()

    def close(self) -> None:
        """End the forker; its children have ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(PATIENCE)


@dataclass
class Child:
    """A process under way."""

    number: int
    forker: Forker

    def wait(self) -> Outcome:
        """How it ended."""
        status = int(self.forker._answer())
        texts = [(self.forker.folder / name).read_text() for name in ("out", "err")]
        return Outcome(status, *texts)

    def signal(self, signum: int) -> None:
        """Send a signal; the process may have ended, but nobody has asked for its status yet."""
        os.kill(self.number, signum)


class Bench:
    """A data set, what training on it gives, and a forker to train with."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.folder, self.random = folder, np.random.default_rng(seed)
        self.forker = Forker(folder / "forker")
        self.data = folder / "data.tsv"
        sample = ("sample", "tomita5", "-n", 120, "--lengths", "0:7")
        assert self.forker.run(*sample, "--out", self.data).status == 0
        self._references: dict[str, Path] = {}
        self.seconds: dict[str, float] = {}
        self.made = 0

    def close(self) -> None:
        """Put the tools away."""
        self.forker.close()
        if "other" in vars(self):
            self.other.close()

    @cached_property
    def other(self) -> Forker:
        """A second forker, for a process beside another."""
        return Forker(self.folder / "other")

    def command(self, out: Path, *more: str, kind: str = "plain") -> tuple[object, ...]:
        """The command line that trains into a folder."""
        return ("train", self.data, "--out", out, *KINDS[kind], *more)

    def reference(self, kind: str = "plain") -> Path:
        """The folder of a run that was left in peace."""
        if kind not in self._references:
            out, started = self.folder / f"reference-{kind}", time.monotonic()
            outcome = self.forker.run(*self.command(out, kind=kind))
            assert outcome.status == 0, outcome.err
            self._references[kind] = out
            self.seconds[kind] = time.monotonic() - started
        return self._references[kind]

    def hurt(
        self, out: Path, signum: int, *more: str, kind: str = "plain", **trouble: object
    ) -> Outcome:
        """Train, and send a signal at a random moment."""
        self.reference(kind)
        child = self.forker.start(*self.command(out, *more, kind=kind), **trouble)
        time.sleep(float(self.random.uniform(0, self.seconds[kind])))
        child.signal(signum)
        return child.wait()

    def end_well(self, out: Path, kind: str = "plain") -> None:
        """Resume to the end: nothing may be lost, the bits must be those of the reference."""
        outcome = self.forker.run(*self.command(out, "--resume", kind=kind))
        assert outcome.status == 0, outcome.err
        reference = self.reference(kind)
        names = ({path.name for path in folder.iterdir()} for folder in (out, reference))
        assert next(names) == next(names)
        assert weights(out) == weights(reference)
        assert story(out) == story(reference)

    def check_state(self, out: Path, kind: str = "plain") -> None:
        """After a fault: what can be loaded is whole, and what is not whole cannot be loaded."""
        if (out / CHECKPOINT).exists():
            load_checkpoint(out / CHECKPOINT)
        with suppress(ModelError):
            found = Model.load(out).to_files()["model.safetensors"]
            assert found == weights(self.reference(kind))


def weights(folder: Path) -> bytes:
    """The weights as they lie on the disk."""
    return (folder / "model.safetensors").read_bytes()


def story(folder: Path) -> list[dict[str, object]]:
    """The history without what depends on the clock."""
    epochs = json.loads((folder / "history.json").read_text())["epochs"]
    return [{k: v for k, v in epoch.items() if k != "seconds"} for epoch in epochs]


@contextmanager
def open_bench(folder: Path, seed: int = 0) -> Iterator[Bench]:
    """A bench that is put away in the end."""
    bench = Bench(folder, seed)
    try:
        yield bench
    finally:
        bench.close()
