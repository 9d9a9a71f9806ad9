"""Large and slow requests: one at a time in a thread, the smallest first."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TypeVar

from kleene.web.limits import Limits, RefusedError
from kleene.web.monitoring import Metrics

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
    """The thread for large requests, and the requests that wait for it."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._limits, self._metrics = limits, metrics
        self._thread = ThreadPoolExecutor(1, "large-requests")
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = itertools.count()
        self._busy = False

    @property
    def full(self) -> bool:
        """Whether another request would be refused."""
        return len(self._waiting) >= self._limits.waiting

    async def run(self, job: Callable[[], Result], size: int) -> Result:
        """The result of a job; if this is cancelled, the job ends at its next `check`."""
        await self._turn(size)
        abandoned = threading.Event()

        def work() -> Result:
            _abandoned.set(abandoned)
            check()
            return job()

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            abandoned.set()
            self._next()

    async def _turn(self, size: int) -> None:
        """Wait until no other job runs and no smaller one waits."""
        if self.full:
            raise RefusedError(429, "too many large requests are waiting; try again later")
        if not self._busy:
            self._busy = True
            return
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (size, next(self._arrivals), turn))
        self._metrics.waiting.set(len(self._waiting))
        try:
            await turn
        except asyncio.CancelledError:
            self._waiting = [one for one in self._waiting if one[2] is not turn]
            heapq.heapify(self._waiting)
            if not turn.cancelled():  # the turn came and the client went at the same time
                self._next()
            raise

    def _next(self) -> None:
        """Give the turn to the smallest job that waits."""
        self._busy = False
        while self._waiting and not self._busy:
            turn = heapq.heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)
                self._busy = True
        self._metrics.waiting.set(len(self._waiting))
