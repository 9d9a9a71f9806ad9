"""Checks the words of a request and runs its work within the time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from kleene.machine import Word
from kleene.web.batcher import Batcher, Passes
from kleene.web.entries import Answer, Entry
from kleene.web.guard import Limits, RefusedError
from kleene.web.parse import parse_word
from kleene.web.registry import ModelRegistry

Result = TypeVar("Result")


class RequestHandler:
    """Where requests are checked and worked on: networks one pass at a time, searches beside."""

    def __init__(self, registry: ModelRegistry, limits: Limits) -> None:
        self.limits = limits
        self._passes = Passes()
        self._searches = ThreadPoolExecutor(1, "searches")
        self._batchers = {entry.name: Batcher(entry, self._passes) for entry in registry}

    def words(self, entry: Entry, given: Sequence[Any]) -> list[Word]:
        """Words as the entry reads them, if they are not too many or too long."""
        limits = self.limits
        if len(given) > limits.words:
            raise RefusedError(
                413, f"{len(given):,} words came; send at most {limits.words:,} at a time"
            )
        words = [parse_word(entry, word) for word in given]
        longest = max(map(len, words), default=0)
        if longest > limits.length:
            raise RefusedError(
                413, f"a word of {longest:,} symbols came; {limits.length:,} are allowed"
            )
        if sum(map(len, words)) > limits.symbols:
            raise RefusedError(
                413, f"more than {limits.symbols:,} symbols came; send fewer at a time"
            )
        return words

    async def predict(self, entry: Entry, words: list[Word]) -> list[Answer]:
        """Answers, found together with those of other requests."""
        return await self._in_time(self._batchers[entry.name](words))

    async def work(self, job: Callable[[], Result], *, search: bool = False) -> Result:
        """The result of something that takes a while."""
        if not search:
            return await self._in_time(self._passes.run(job))
        loop = asyncio.get_running_loop()
        return await self._in_time(loop.run_in_executor(self._searches, job))

    async def _in_time(self, job: Awaitable[Result]) -> Result:
        try:
            return await asyncio.wait_for(job, self.limits.seconds)
        except TimeoutError:
            message = f"no answer within {self.limits.seconds:g} s; send less, or try later"
            raise RefusedError(503, message) from None
