"""Child processes of the server. Ctrl-C in a terminal reaches all; only the first one heeds it."""

from __future__ import annotations

import multiprocessing
import signal
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess

CONTEXT = multiprocessing.get_context("spawn")


def start(process: BaseProcess) -> None:
    """Start a process that never gets SIGINT, not even while it imports what it runs."""
    resource_tracker.ensure_running()  # when it starts, it lets SIGINT through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the child inherits this
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
