"""The background process: it answers large and slow requests, so that short ones never wait.

A Python process runs one piece of Python at a time: reading a megabyte of JSON or searching for a
difference would hold up all other requests, also in a thread. The background process has the same
models and a lower priority. It answers one request at a time, the smallest first.
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import itertools
import logging
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any

from starlette.responses import Response
from starlette.types import Scope

from kleene.web.guard import run_app
from kleene.web.limits import Limits, RefusedError
from kleene.web.models import ModelRegistry
from kleene.web.monitoring import Metrics

LOGGER = logging.getLogger("kleene.background")
CONTEXT = multiprocessing.get_context("spawn")
NICE = 10
KEPT = ("type", "http_version", "method", "path", "root_path", "query_string", "headers")
"""Parts of a request's scope that the background process gets."""

_Parts = tuple[int, list[tuple[bytes, bytes]], bytes]  # status, headers and body of an answer


class Background:
    """The background process as the server sees it."""

    def __init__(self, registry: ModelRegistry, limits: Limits, metrics: Metrics) -> None:
        self._abandoned = CONTEXT.RawValue("Q", 0)  # the last request that nobody waits for
        self._arguments: Any = _Pickled(registry), limits, self._abandoned
        self._limits, self._metrics = limits, metrics
        self._numbers, self._arrivals = itertools.count(1), itertools.count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._busy = False
        self._start()

    def _start(self) -> None:
        self._pool = ProcessPoolExecutor(
            1, mp_context=CONTEXT, initializer=_set_up, initargs=self._arguments
        )
        with signals_blocked():  # which the new process inherits: it ends with this one only
            self._started: Future[int] = self._pool.submit(os.getpid)

    def close(self) -> None:
        """End the process."""
        self._abandoned.value = next(self._numbers)
        self._pool.shutdown(cancel_futures=True)

    @property
    def ready(self) -> bool:
        """Whether the process has loaded the models and can take another request."""
        loaded = self._started.done() and self._started.exception() is None
        return loaded and len(self._waiting) < self._limits.waiting

    async def answer(self, scope: Scope, body: bytes) -> Response:
        """Let the process answer; if this is cancelled, its work ends at the next check."""
        await self._turn(len(body))
        number = next(self._numbers)
        head = {key: scope[key] for key in KEPT}
        try:
            status, headers, content = await asyncio.wrap_future(
                self._submit(number, head | {"authorized": scope["authorized"]}, body)
            )
        except BrokenProcessPool:
            self._restart()
            raise RefusedError(
                503, "the process for large requests ended and is being started; try again later"
            ) from None
        except asyncio.CancelledError:
            self._abandoned.value = number
            raise
        finally:
            self._next()
        response = Response(content, status)
        response.raw_headers = headers
        return response

    def _submit(self, *request: Any) -> Future[_Parts]:
        try:
            return self._pool.submit(_answer, *request)
        except BrokenProcessPool:
            self._restart()
            return self._pool.submit(_answer, *request)

    def _restart(self) -> None:
        LOGGER.error("the background process ended; starting it again")
        self._pool.shutdown(wait=False)
        self._start()

    async def _turn(self, size: int) -> None:
        """Wait until no other request is being answered and no smaller one waits."""
        if len(self._waiting) >= self._limits.waiting:
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
            if not turn.cancelled():  # the turn came and the client went at the same time
                self._next()
            self._waiting = [one for one in self._waiting if one[2] is not turn]
            heapq.heapify(self._waiting)
            raise

    def _next(self) -> None:
        """Give the turn to the smallest request that waits."""
        self._busy = False
        while self._waiting and not self._busy:
            turn = heapq.heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)
                self._busy = True
        self._metrics.waiting.set(len(self._waiting))


class _Pickled:
    """A registry that reaches the new process by pickle, and not through shared memory."""

    def __init__(self, registry: ModelRegistry) -> None:
        self.registry = registry

    def __reduce__(self) -> tuple[Any, ...]:
        return pickle.loads, (pickle.dumps(self.registry),)


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Start processes that get neither Ctrl-C nor SIGTERM, not even while they import."""
    resource_tracker.ensure_running()  # its start would unblock the signals again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- in the background process -------------------------------------------------------------------


class _AbandonedError(Exception):
    """Nobody waits for this answer."""


class _Worker:
    """The state of the background process."""

    app: Any
    abandoned: Any
    number = 0

    def check(self) -> None:
        """Stop if nobody waits for the answer."""
        if self.abandoned.value >= self.number:
            raise _AbandonedError


_WORKER = _Worker()


def _set_up(registry: ModelRegistry, limits: Limits, abandoned: Any) -> None:
    import torch

    from kleene.web.app import create_routes

    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(OSError):
        os.nice(NICE)
    torch.set_num_threads(1)
    for entry in registry:
        entry.warm_up()
    _WORKER.app = create_routes(registry, limits, Metrics(), check=_WORKER.check)
    _WORKER.abandoned = abandoned
    gc.collect()
    gc.freeze()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(0)


def _answer(number: int, scope: dict[str, Any], body: bytes) -> _Parts:
    _WORKER.number = number
    try:
        _WORKER.check()
        found = asyncio.run(run_app(_WORKER.app, scope, body))
    except _AbandonedError:
        return 503, [], b""
    return found.status_code, found.raw_headers, bytes(found.body)
