"""Checks the words of a request and does its work within the time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, TypeVar

from kleene.machine import Word
from kleene.web.entries import Answer, Entry
from kleene.web.http.limits import Limits, RefusedError
from kleene.web.http.metrics import Metrics
from kleene.web.parse import parse_word
from kleene.web.registry import ModelRegistry
from kleene.web.scheduler import Scheduler

Result = TypeVar("Result")

SLICE = 10_000  # symbols of a request that are read before others have their turn
SEARCHES = 2  # at a time
WAITING_SEARCHES = 8


async def in_slices(steps: Generator[None, None, Result]) -> Result:
    """The result of work that yields now and then, so that others have their turn between."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
        await asyncio.sleep(0)


class RequestHandler:
    """Does what the routes ask for; none of it blocks the event loop for long."""

    def __init__(self, registry: ModelRegistry, limits: Limits, metrics: Metrics) -> None:
        self.registry, self.limits, self.metrics = registry, limits, metrics
        self.scheduler = Scheduler(limits, metrics)
        self._searcher = ThreadPoolExecutor(SEARCHES, "searching")
        self._searches = 0

    @property
    def ready(self) -> bool:
        """Whether a request would be taken."""
        return self.scheduler.waiting < self.limits.waiting

    def entry(self, name: str | None) -> Entry:
        """The model of a name, the first where none is given."""
        try:
            return self.registry[name]
        except KeyError as error:
            raise RefusedError(404, str(error.args[0])) from None

    def read_words(self, entry: Entry, values: Sequence[Any]) -> Generator[None, None, list[Word]]:
        """Words as the model reads them, if they are not too many or too long; yields between."""
        limits = self.limits
        if len(values) > limits.words:
            raise RefusedError(
                413, f"a request must have at most {limits.words:,} words, got {len(values):,}"
            )
        words: list[Word] = []
        total = rest = 0
        for value in values:
            if isinstance(value, list) and len(value) > limits.length:
                raise self._too_long(len(value))
            words.append(parse_word(entry, value))
            total += len(words[-1])
            if len(words[-1]) > limits.length:
                raise self._too_long(len(words[-1]))
            if total > limits.symbols:
                most = f"{limits.symbols:,} symbols in all"
                raise RefusedError(413, f"a request must have at most {most}; send fewer at a time")
            if total // SLICE > rest:
                rest = total // SLICE
                yield
        return words

    def _too_long(self, length: int) -> RefusedError:
        return RefusedError(
            413, f"a word must have at most {self.limits.length:,} symbols, got {length:,}"
        )

    async def predict(self, entry: Entry, words: Sequence[Word]) -> list[Answer]:
        """Answers, found together with those of other requests."""
        return await self._in_time(self.scheduler.predict(entry, words), self.limits.seconds)

    async def predict_file(self, entry: Entry, words: Sequence[Word]) -> list[Answer]:
        """Answers to many words, a part at a time."""

        async def all_parts() -> list[Answer]:
            answers: list[Answer] = []
            for start in range(0, len(words), self.limits.words):
                part = words[start : start + self.limits.words]
                answers += await self.scheduler.predict(entry, part)
            return answers

        return await self._in_time(all_parts(), self.limits.upload_seconds)

    async def run(self, job: Callable[[], Result], *, symbols: int) -> Result:
        """The result of a job that a model does."""
        return await self._in_time(self.scheduler.run(job, symbols=symbols), self.limits.seconds)

    async def search(self, job: Callable[[Callable[[], None]], Result]) -> Result:
        """The result of a search; it is handed a function that ends it once nobody waits for it."""
        if self._searches >= WAITING_SEARCHES:
            raise RefusedError(429, "too many searches are waiting; try again later")
        stopped = Event()

        def check() -> None:
            if stopped.is_set():
                raise _StoppedError

        def work() -> Result:
            check()
            return job(check)

        found = asyncio.get_running_loop().run_in_executor(self._searcher, work)
        self._searches += 1
        found.add_done_callback(self._search_over)
        try:
            return await self._in_time(asyncio.shield(found), self.limits.seconds)
        finally:
            stopped.set()

    def _search_over(self, found: asyncio.Future[Any]) -> None:
        self._searches -= 1
        if not found.cancelled():
            found.exception()  # one that was stopped has nobody left to tell

    async def _in_time(self, job: Awaitable[Result], seconds: float) -> Result:
        try:
            return await asyncio.wait_for(job, seconds)
        except TimeoutError:
            message = f"no answer within {seconds:g} s; send less, or try again later"
            raise RefusedError(503, message) from None


class _StoppedError(Exception):
    """A search that nobody waits for."""
