"""Compiling with Numba; signals that would end the run wait until the compiler is done.

LLVM calls back into Python while it compiles. An exception that a signal handler raises there,
such as that of Ctrl-C, is printed with a traceback and lost.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event

__all__ = ["njit"]

HELD = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)

Handler = Callable[[int, Any], Any]


class _HeldSignals(event.Listener):
    """Replaces Python's signal handlers while the main thread holds the compiler's lock."""

    def __init__(self) -> None:
        self._depth = 0
        self._handlers: dict[int, Handler] = {}
        self._received: list[int] = []

    def on_start(self, event: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # handlers run in the main thread, outside the compiler
        if self._depth == 0:
            try:
                self._replace()
            except BaseException:
                self._restore()
                raise
        self._depth += 1

    def on_end(self, event: Any) -> None:
        if threading.current_thread() is not threading.main_thread() or self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0:
            handlers = self._restore()
            received, self._received = self._received, []
            for number in received[:1]:
                handlers[number](number, None)

    def _replace(self) -> None:
        for number in HELD:
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._receive)

    def _restore(self) -> dict[int, Handler]:
        handlers, self._handlers = self._handlers, {}
        for number, handler in handlers.items():
            signal.signal(number, handler)
        return handlers

    def _receive(self, number: int, frame: Any) -> None:
        self._received.append(number)


event.register("numba:compiler_lock", _HeldSignals())  # type: ignore[no-untyped-call]
