"""Requests that arrive while another is being answered wait, and are then answered together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeAlias, TypeVar

from kleene.machine import Word
from kleene.web.entries import Answer, Entry

Result = TypeVar("Result")
Request: TypeAlias = "tuple[list[Word], asyncio.Future[list[Answer]]]"

MOST = 64  # words in one pass
QUICK = 1_500  # symbols, which a pass reads sooner than a thread is woken on a busy machine


class Passes:
    """Networks run one pass at a time: here at once if it is quick, else in a thread."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "passes")
        self._turn = Lock()

    async def run(self, job: Callable[[], Result], *, quick: bool = False) -> Result:
        """The result of a job, when it is its turn."""
        if quick and self._turn.acquire(blocking=False):
            try:
                return job()
            finally:
                self._turn.release()
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._alone, job)

    def _alone(self, job: Callable[[], Result]) -> Result:
        with self._turn:
            return job()


class Batcher:
    """Answers for the words of many requests, one pass of the network at a time."""

    def __init__(self, entry: Entry, passes: Passes) -> None:
        self._entry, self._passes = entry, passes
        self._waiting: list[Request] = []
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, words: list[Word]) -> list[Answer]:
        """The answers for some words, in their order."""
        answer: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()
        self._waiting.append((words, answer))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)  # whatever has arrived by now joins
            taken = self._take()
            try:
                found = await self._predict([word for words, _ in taken for word in words])
            except Exception:
                await self._one_by_one(taken)
                continue
            for words, answer in taken:
                mine, found = found[: len(words)], found[len(words) :]
                if not answer.done():
                    answer.set_result(mine)

    async def _predict(self, words: list[Word]) -> list[Answer]:
        quick = sum(map(len, words)) <= QUICK
        return await self._passes.run(lambda: self._entry.predict(words), quick=quick)

    def _take(self) -> list[Request]:
        """The first request, and those behind it as long as there is room."""
        count = total = 0
        for words, _ in self._waiting:
            total += len(words)
            if count and total > MOST:
                break
            count += 1
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return taken

    async def _one_by_one(self, taken: list[Request]) -> None:
        """When a pass fails, only the request at fault shall."""
        for words, answer in taken:
            if answer.done():
                continue
            try:
                answer.set_result(await self._predict(words))
            except Exception as error:
                answer.set_exception(error)
