"""Requests that arrive while another is being answered wait, and are then answered together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from kleene.machine import Word
from kleene.web.shelf import Answer, Entry

MOST = 64  # words in one pass


class Batcher:
    """Answers for the words of many requests, one pass of the network at a time."""

    def __init__(self, entry: Entry, executor: Executor) -> None:
        self._predict: Callable[[Sequence[Word]], list[Answer]] = entry.predict
        self._executor = executor
        self._waiting: list[tuple[list[Word], asyncio.Future[list[Answer]]]] = []
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, words: list[Word]) -> list[Answer]:
        """The answers for some words, in their order."""
        answer: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()
        self._waiting.append((words, answer))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            taken = self._take()
            words = [word for some, _ in taken for word in some]
            try:
                found = await loop.run_in_executor(self._executor, self._predict, words)
            except Exception:
                await self._one_by_one(taken)
                continue
            for some, answer in taken:
                mine, found = found[: len(some)], found[len(some) :]
                if not answer.done():
                    answer.set_result(mine)

    def _take(self) -> list[tuple[list[Word], asyncio.Future[list[Answer]]]]:
        """The first request, and those behind it as long as there is room."""
        count = total = 0
        for words, _ in self._waiting:
            total += len(words)
            if count and total > MOST:
                break
            count += 1
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return taken

    async def _one_by_one(
        self, taken: list[tuple[list[Word], asyncio.Future[list[Answer]]]]
    ) -> None:
        """When a pass fails, only the request at fault shall."""
        loop = asyncio.get_running_loop()
        for words, answer in taken:
            if answer.done():
                continue
            try:
                answer.set_result(await loop.run_in_executor(self._executor, self._predict, words))
            except Exception as error:
                answer.set_exception(error)
