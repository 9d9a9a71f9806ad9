"""Whose turn it is: models run one pass at a time, in short passes and in fair order.

Short requests that wait are answered together, in one pass. Long ones are cut into parts, and one
part is read between two passes of short requests: in turn of the request with the least left to
read and of the oldest, so that a request waits neither for all longer ones nor without end. A
request whose client is gone is dropped before its next part.

Parts are so small that they are read in the event loop itself: a thread beside it competes with it
for Python's lock.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kleene.machine import Word
from kleene.web.entries import Answer, Entry
from kleene.web.http.limits import Limits, RefusedError
from kleene.web.http.metrics import Metrics

Result = TypeVar("Result")

PASS_SECONDS, INLINE_SECONDS = 0.01, 0.05  # of a pass, and of the longest in the event loop
WORDS, SYMBOLS = 256, (500, 8_000)  # in one pass, at most; the symbols by the speed of the model
PACE = 5e-6  # seconds a symbol, until they are measured
SHORT, SHORT_WORDS = 1_500, 64  # symbols and words of a short request


@dataclass(eq=False)
class _Request:
    """Work that waits: words for a model, or a job of another kind."""

    future: asyncio.Future[Any]
    symbols: int
    entry: Entry | None = None
    words: Sequence[Word] = ()
    job: Callable[[], Any] | None = None
    answers: list[Answer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = self.symbols
        """Symbols that are not read yet."""
        self.short = self.symbols <= SHORT and len(self.words) <= SHORT_WORDS

    def next_part(self, symbols: int) -> list[Word]:
        """The words of the next pass."""
        return next(parts(self.words[len(self.answers) :], symbols), [])

    def give(self, answers: Sequence[Answer]) -> None:
        """Note the answers to the next words."""
        start, end = len(self.answers), len(self.answers) + len(answers)
        self.left -= sum(map(len, self.words[start:end]))
        self.answers += answers
        if end == len(self.words) and not self.future.done():
            self.future.set_result(self.answers)


def parts(words: Sequence[Word], symbols: int = SYMBOLS[1]) -> Iterator[list[Word]]:
    """Words in their order, so many at a time as one pass takes; a longer word comes alone."""
    part: list[Word] = []
    total = 0
    for word in words:
        if part and (len(part) >= WORDS or total + len(word) > symbols):
            yield part
            part, total = [], 0
        part.append(word)
        total += len(word)
    if part:
        yield part


class Scheduler:
    """The queue of a server."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self.limits, self.metrics = limits, metrics
        self._short: list[_Request] = []
        self._long: list[_Request] = []
        self._thread = ThreadPoolExecutor(1, "inference")
        self._task: asyncio.Task[None] | None = None
        self._turn = 0
        self._pace: dict[str, float] = {}  # seconds a symbol, by model

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
        self._short = [request for request in self._short if not request.future.done()]
        self._long = [request for request in self._long if not request.future.done()]
        return [*self._short, *self._long]

    async def _work(self) -> None:
        await asyncio.sleep(0)  # whatever arrives at the same time joins
        while self.waiting:
            self._turn += 1
            await self._read(self._next())
            self.metrics.set("waiting", value=self.waiting)

    def _next(self) -> list[_Request]:
        """Whose work is done now: in turn short requests, and one of the long ones."""
        if self._short and (self._turn % 2 or not self._long):
            return self._together()
        if self._turn % 4 < 2:
            return [self._long[0]]
        return [min(self._long, key=lambda request: request.left)]

    def _together(self) -> list[_Request]:
        """The first short request, and those for the same model that fit in one pass with it."""
        first = self._short[0]
        taken, words, symbols = [first], len(first.words), first.symbols
        for request in self._short[1:]:
            words, symbols = words + len(request.words), symbols + request.symbols
            if request.entry is not first.entry or words > WORDS or symbols > SYMBOLS[0]:
                break
            taken.append(request)
        return taken if first.job is None else [first]

    async def _read(self, requests: list[_Request]) -> None:
        """One pass for some requests; when it fails, only the request at fault does."""
        if requests[0].job is not None:
            await self._run_job(requests[0])
            return
        entry = requests[0].entry
        assert entry is not None
        some = [request.next_part(self._size(entry)) for request in requests]
        try:
            answers = await self._predict(entry, [word for part in some for word in part])
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

    def _size(self, entry: Entry) -> int:
        """Symbols that a model reads in one pass."""
        least, most = SYMBOLS
        return max(least, min(most, int(PASS_SECONDS / self._pace.get(entry.name, PACE))))

    async def _predict(self, entry: Entry, words: list[Word]) -> list[Answer]:
        symbols = sum(map(len, words))
        pace = self._pace.get(entry.name, PACE)

        def read() -> list[Answer]:
            started = time.thread_time()
            answers = entry.predict(words)
            if symbols >= SYMBOLS[0]:
                spent = (time.thread_time() - started) / symbols
                self._pace[entry.name] = 0.8 * pace + 0.2 * spent
            return answers

        self.metrics.add("symbols", amount=symbols)
        return await self._pass(read, inline=symbols * pace <= INLINE_SECONDS)

    async def _run_job(self, request: _Request) -> None:
        assert request.job is not None
        self.metrics.add("symbols", amount=request.symbols)
        try:
            found = await self._pass(request.job, inline=request.short)
        except Exception as error:
            _fail(request, error)
        else:
            if not request.future.done():
                request.future.set_result(found)

    async def _pass(self, job: Callable[[], Result], *, inline: bool) -> Result:
        """Run a pass: in the event loop where it is short, else in the thread."""
        self.metrics.add("passes")
        if not inline:
            return await asyncio.get_running_loop().run_in_executor(self._thread, job)
        result = job()
        await asyncio.sleep(0)  # requests that arrived meanwhile are read
        return result


def _future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


def _fail(request: _Request, error: Exception) -> None:
    if not request.future.done():
        request.future.set_exception(error)
