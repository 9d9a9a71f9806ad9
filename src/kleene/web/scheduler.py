"""Whose turn it is: models run one pass at a time, in short passes and in fair order.

Short requests that wait are answered together, in one pass. Long ones are cut into parts, and a
part is read between two passes of short requests, from each long request in turn, so that nobody
waits for more than one part. A request whose client is gone is dropped before its next part.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kleene.machine import Word
from kleene.web.entries import Answer, Entry
from kleene.web.http.limits import Limits, RefusedError
from kleene.web.http.metrics import Metrics

Result = TypeVar("Result")

WORDS = 64  # in one pass
SYMBOLS = 8_000  # in one pass, but for a single word that is longer
SHORT = 1_500  # symbols, which a pass reads sooner than a thread is woken on a busy machine


@dataclass(eq=False)
class _Request:
    """Work that waits: words for a model, or a job of another kind."""

    future: asyncio.Future[Any]
    symbols: int
    entry: Entry | None = None
    words: Sequence[Word] = ()
    job: Callable[[], Any] | None = None
    answers: list[Answer] = field(default_factory=list)

    @property
    def short(self) -> bool:
        return self.symbols <= SHORT and len(self.words) <= WORDS

    def next_part(self) -> list[Word]:
        """The words of the next pass."""
        return next(parts(self.words[len(self.answers) :]), [])

    def give(self, answers: Sequence[Answer]) -> bool:
        """Note some answers; True when all are there."""
        self.answers += answers
        if len(self.answers) < len(self.words):
            return False
        if not self.future.done():
            self.future.set_result(self.answers)
        return True


def parts(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Words in their order, so many at a time as one pass takes."""
    part: list[Word] = []
    symbols = 0
    for word in words:
        if part and (len(part) >= WORDS or symbols + len(word) > SYMBOLS):
            yield part
            part, symbols = [], 0
        part.append(word)
        symbols += len(word)
    if part:
        yield part


class Scheduler:
    """The queue of a server."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self.limits, self.metrics = limits, metrics
        self._short: deque[_Request] = deque()
        self._long: deque[_Request] = deque()
        self._current: list[_Request] = []
        self._thread = ThreadPoolExecutor(1, "inference")
        self._task: asyncio.Task[None] | None = None
        self._turn = False  # whether a long request is next

    @property
    def waiting(self) -> int:
        """Requests whose work waits or is being done."""
        return len(self._live())

    async def predict(self, entry: Entry, words: Sequence[Word]) -> list[Answer]:
        """The answers of a model to some words, in their order."""
        if not words:
            return []
        found: list[Answer] = await self._done(
            _Request(_future(), sum(map(len, words)), entry=entry, words=words)
        )
        return found

    async def run(self, job: Callable[[], Result], *, symbols: int) -> Result:
        """The result of a job that reads so many symbols."""
        found: Result = await self._done(_Request(_future(), symbols, job=job))
        return found

    async def _done(self, request: _Request) -> Any:
        others = self._live()
        symbols = sum(other.symbols for other in others if not other.short)
        many = not request.short and symbols + request.symbols > self.limits.waiting_symbols
        if len(others) >= self.limits.waiting or (symbols and many):
            raise RefusedError(429, "too many requests are waiting; try again later")
        (self._short if request.short else self._long).append(request)
        self.metrics.set("waiting", value=len(others) + 1)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return await request.future

    def _live(self) -> list[_Request]:
        """All requests that somebody waits for; the others are forgotten."""
        for queue in (self._short, self._long):
            kept = [request for request in queue if not request.future.done()]
            if len(kept) < len(queue):
                queue.clear()
                queue.extend(kept)
        current = [request for request in self._current if not request.future.done()]
        return [*current, *self._short, *self._long]

    async def _work(self) -> None:
        await asyncio.sleep(0)  # whatever arrives at the same time joins
        while self.waiting:
            self._turn = not self._turn
            take_long = self._long and (self._turn or not self._short)
            self._current = [self._long.popleft()] if take_long else self._take_short()
            await self._read(self._current)
            self._long.extend(one for one in self._current if not one.future.done())
            self._current = []
            self.metrics.set("waiting", value=self.waiting)

    def _take_short(self) -> list[_Request]:
        """The first short request, and those for the same model that fit in one pass with it."""
        first = self._short.popleft()
        taken, words, symbols = [first], len(first.words), first.symbols
        if first.job is None:
            for request in list(self._short):
                words, symbols = words + len(request.words), symbols + request.symbols
                if request.entry is not first.entry or words > WORDS or symbols > SYMBOLS:
                    break
                taken.append(request)
                self._short.remove(request)
        return taken

    async def _read(self, requests: list[_Request]) -> None:
        """One pass for some requests; when it fails, only the request at fault does."""
        if requests[0].job is not None:
            await self._run_job(requests[0])
            return
        some = [request.next_part() for request in requests]
        try:
            answers = await self._predict(requests[0].entry, [w for part in some for w in part])
        except Exception as error:
            if len(requests) == 1:
                _fail(requests[0], error)
            else:
                for request in requests:
                    await self._read([request])
            return
        start = 0
        for request, part in zip(requests, some, strict=True):
            request.give(answers[start : start + len(part)])
            start += len(part)

    async def _predict(self, entry: Entry | None, words: list[Word]) -> list[Answer]:
        assert entry is not None
        symbols = sum(map(len, words))
        self.metrics.add("symbols", amount=symbols)
        return await self._pass(lambda: entry.predict(words), short=symbols <= SHORT)

    async def _run_job(self, request: _Request) -> None:
        assert request.job is not None
        self.metrics.add("symbols", amount=request.symbols)
        try:
            found = await self._pass(request.job, short=request.short)
        except Exception as error:
            _fail(request, error)
        else:
            if not request.future.done():
                request.future.set_result(found)

    async def _pass(self, job: Callable[[], Result], *, short: bool) -> Result:
        """Run a pass: at once where it is short, else in the thread."""
        self.metrics.add("passes")
        if short:
            result = job()
            await asyncio.sleep(0)  # requests that arrived meanwhile are read
            return result
        return await asyncio.get_running_loop().run_in_executor(self._thread, job)


def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


def _fail(request: _Request, error: Exception) -> None:
    if not request.future.done():
        request.future.set_exception(error)
