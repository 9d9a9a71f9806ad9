"""Run a command in a pseudo-terminal and return what a person would have seen."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pexpect

FORBIDDEN = ("Traceback", "mistake in kleene itself")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


@dataclass(frozen=True)
class TerminalRun:
    """The end of a command: its status and its text without control sequences."""

    status: int
    text: str


def run_in_terminal(
    *arguments: object,
    cwd: Path,
    rows: int = 24,
    columns: int = 80,
    color: bool = True,
    timeout: float = 240,
) -> TerminalRun:
    """Run `kleene` with a terminal on all three streams and wait for its end."""
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    environment.pop("NO_COLOR", None)
    if not color:
        environment["NO_COLOR"] = "1"
    child = pexpect.spawn(
        sys.executable,
        ["-m", "kleene", *map(str, arguments)],
        cwd=str(cwd),
        env=environment,
        dimensions=(rows, columns),
        timeout=timeout,
        encoding="utf-8",
        codec_errors="replace",
    )
    child.expect(pexpect.EOF)
    child.close()
    text = _CONTROL.sub("", child.before or "")
    for phrase in FORBIDDEN:
        assert phrase not in text, text
    assert child.exitstatus is not None, f"killed by signal {child.signalstatus}: {text}"
    return TerminalRun(child.exitstatus, text)
