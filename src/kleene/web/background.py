"""Large and slow requests: one at a time in a thread, in the order of their arrival."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TypeVar

from kleene.web.limits import RefusedError
from kleene.web.metrics import Metrics

Result = TypeVar("Result")

_abandoned: ContextVar[threading.Event | None] = ContextVar("kleene_abandoned", default=None)


class AbandonedError(Exception):
    """Nobody waits for the answer."""


def check() -> None:
    """End the work of a large request if nobody waits for the answer any more."""
    event = _abandoned.get()
    if event is not None and event.is_set():
        raise AbandonedError


class Background:
    """The thread for large requests; at most `most` others wait for it."""

    def __init__(self, most: int, metrics: Metrics) -> None:
        self._most, self._waiting = most, metrics.waiting
        self._thread = ThreadPoolExecutor(1, "large-requests")
        self._jobs = 0

    @property
    def full(self) -> bool:
        """Whether another request would be refused."""
        return self._jobs > self._most

    async def run(self, job: Callable[[], Result]) -> Result:
        """The result of a job; if this is cancelled, the job ends at its next `check`."""
        if self.full:
            raise RefusedError(429, "too many large requests are waiting; try again later")
        abandoned = threading.Event()

        def work() -> Result:
            _abandoned.set(abandoned)
            check()
            return job()

        self._count(1)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            abandoned.set()
            self._count(-1)

    def _count(self, change: int) -> None:
        self._jobs += change
        self._waiting.set(max(self._jobs - 1, 0))
