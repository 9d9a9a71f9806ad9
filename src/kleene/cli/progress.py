"""A line on standard error that shows the progress of work that takes longer than two seconds."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from time import monotonic

from kleene.cli.console import escaped, say

QUIET_SECONDS, LOG_SECONDS = 2.0, 15.0


class Progress:
    """Stage, amount, rate and time left of one piece of work."""

    def __init__(self, stage: str, unit: str = "") -> None:
        self.stage, self.unit, self.note = stage, unit, ""
        self.done = 0
        self.share: float | None = None
        self.started = self.logged = monotonic()

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
        self.note = f", best so far: {note}"

    def __str__(self) -> str:
        seconds = monotonic() - self.started
        text = f"{self.stage}: {seconds:.0f} s"
        if self.done:
            rate = self.done / seconds
            shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
            text = f"{self.stage}: {self.done:,} {self.unit}, {shown} a second"
        if self.share:
            left = seconds * (1 - self.share) / self.share
            text += f", {self.share:.0%}, {left:,.0f} s left"
        return text + self.note


@contextmanager
def progress(stage: str, unit: str = "") -> Iterator[Progress]:
    """Show the progress of the work inside; at a terminal, the line is removed at the end."""
    shown, ended = Progress(stage, unit), Event()
    if not sys.stderr.isatty():
        yield shown
        return
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
            print(f"\r\x1b[K{escaped(str(shown))[:width]}", end="", file=sys.stderr, flush=True)
            ended.wait(0.5)
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
