"""The command line as a user meets it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

SMALL = ("--hidden-size", "16", "--embedding-size", "8")


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


Kleene = Callable[..., Outcome]


def _heed_interrupts() -> None:
    """A test run in the background of a shell is told to ignore Ctrl-C; its children are not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(
    *arguments: object, environment: dict[str, str] | None = None, **options: object
) -> subprocess.Popen[str]:
    """Run a command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "kleene", *map(str, arguments)],
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "", **(environment or {})},
        preexec_fn=_heed_interrupts,
        **options,  # type: ignore[call-overload]
    )


def assert_one_clear_line(outcome: Outcome) -> None:
    """What every mistake of a user must look like."""
    assert outcome.status == 2
    errors = [line for line in outcome.err.splitlines() if line.startswith("kleene: error: ")]
    assert len(errors) == 1
    assert all(line.startswith("kleene: ") for line in outcome.err.splitlines())
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
