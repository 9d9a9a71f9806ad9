"""Paths that are no files: pipes, devices, sockets, loops of links, and files too large to read."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from readers import Reader, small_model

from kleene import DFA
from kleene.automata import PFA, CounterMachine
from kleene.data.files import read_data
from kleene.data.store import open_store
from kleene.datasets.archives import members
from kleene.datasets.mnist import read_idx
from kleene.extraction.adapters import onnx
from kleene.model import Model
from kleene.model_folder import FILES
from kleene.proof.certificate import Certificate
from kleene.proof.verify import verify
from kleene.training.checkpoint import load_checkpoint

PATIENCE = 30  # seconds after which a reader is taken to read for ever
DEVICES = ("/dev/zero", "/dev/full", "/dev/random", "/dev/null", "/dev/tty", "/dev/stdin")


def _sparse(path: Path, size: int) -> None:
    """A file that has no end worth waiting for, and takes no room."""
    with path.open("wb") as file:
        file.truncate(size)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(path))  # whose length is bounded


KINDS: Sequence[Callable[[Path], object]] = (
    os.mkfifo,
    lambda path: path.symlink_to(path.name),
    lambda path: path.symlink_to("nowhere"),
    lambda path: path.mkdir(),
    lambda path: _sparse(path, 2**40),
    lambda path: path.write_bytes(b""),
    lambda path: (path.touch(), path.chmod(0)),
    _socket,
    *(lambda path, device=device: path.symlink_to(device) for device in DEVICES),
)


def special_files(folder: Path) -> Reader:
    """The readers of files, and one file of a folder, each of which finds something else."""
    whole = small_model().save(folder / "whole")
    small_dfa = DFA.from_table({"s": {"a": "s"}}, start="s", accept={"s"})

    def in_model(name: str, load: Callable[[Path], object]) -> Callable[[Path], object]:
        def read(path: Path) -> object:
            target = path.parent / "model"
            shutil.copytree(whole, target)
            (target / name).unlink()
            path.rename(target / name)
            return load(target)

        return read

    def checked(target: Path) -> object:
        return verify(target, small_dfa.to_json(), "{}")

    reads: list[Callable[[Path], object]] = [
        *(read_data, open_store, DFA.load, PFA.load, CounterMachine.load),
        *(Certificate.load, load_checkpoint, read_idx, onnx),
        lambda path: list(members(path, lambda name: True)),
        *(in_model(name, load) for name in FILES for load in (Model.load, checked)),
    ]
    endings = ("", ".json", ".csv", ".tsv", ".jsonl", ".gz", ".xes", ".parquet")

    def pick(content: bytes, others: Sequence[bytes], dice: random.Random) -> bytes:
        bounds = (len(reads), len(KINDS), len(endings))
        return bytes(dice.randrange(bound) for bound in bounds)

    def read(content: bytes) -> object:
        which, kind, ending = (*content, 0, 0, 0)[:3]
        place = folder / "place"
        place.mkdir()
        path = place / f"input{endings[ending % len(endings)]}"
        before = signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(PATIENCE)
        try:
            KINDS[kind % len(KINDS)](path)
            return reads[which % len(reads)](path)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
            shutil.rmtree(place)

    return Reader(name="special files", seeds=[b"\0\0\0"], read=read, mutate=pick)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"it reads for more than {PATIENCE} s")
