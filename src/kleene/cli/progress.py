"""A line on standard error that shows the progress of work that takes longer than two seconds."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from time import monotonic

from kleene.cli.console import escaped, say

QUIET_SECONDS, LOG_SECONDS = 2.0, 15.0


@dataclass
class Progress:
    """Stage, amount, rate and time left of one piece of work."""

    stage: str
    unit: str = ""
    note: str = ""
    done: int = 0
    share: float | None = None
    started: float = field(default_factory=monotonic)
    logged: float = field(default_factory=monotonic)

    def __call__(self, done: int, share: float | None) -> None:
        """Take the amount done and the share of the whole, where it is known.

        A log, which has no line that changes, gets one every 15 seconds.
        """
        self.done, self.share = done, share
        if not sys.stderr.isatty() and monotonic() - self.logged >= LOG_SECONDS:
            self.logged = monotonic()
            say(str(self))

    def set_note(self, note: str) -> None:
        """Take the best result so far, in words."""
        self.note = f"best so far: {note}"

    def __str__(self) -> str:
        seconds = monotonic() - self.started
        parts = [f"{seconds:.0f} s"]
        if self.done:
            rate = self.done / seconds
            shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
            parts = [f"{self.done:,} {self.unit}", f"{shown} a second"]
        if self.share:
            left = seconds * (1 - self.share) / self.share
            parts += [f"{self.share:.0%}", f"{left:,.0f} s left"]
        return f"{self.stage}: {', '.join([*parts, self.note] if self.note else parts)}"


@contextmanager
def progress(stage: str, unit: str = "") -> Iterator[Progress]:
    """Show the progress of the work inside; at a terminal, the line is removed at the end."""
    shown = Progress(stage, unit)
    if not sys.stderr.isatty():
        yield shown
        return
    ended = Event()
    thread = Thread(target=_draw, args=(shown, ended), daemon=True)
    thread.start()
    try:
        yield shown
    finally:
        ended.set()
        thread.join()


def _draw(shown: Progress, ended: Event) -> None:
    if ended.wait(QUIET_SECONDS):
        return
    with suppress(OSError):  # the terminal may be gone
        while not ended.is_set():
            width = shutil.get_terminal_size().columns - 3  # room for the `^C` of a terminal
            sys.stderr.write(f"\r\x1b[K{escaped(str(shown))[:width]}")
            sys.stderr.flush()
            ended.wait(0.5)
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
