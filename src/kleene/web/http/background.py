"""The background process: it answers large and slow requests, so that short ones never wait.

One Python process runs one piece of Python at a time. Whatever reads a megabyte of JSON, splits a
file into words or searches for a difference would hold up all other requests, in a thread as well
as in the event loop. Here such requests are handed to a second process with the same models, at a
lower priority. It takes any number of requests at a time, drops those whose client is gone, and is
started again when it ends.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import pickle
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kleene.web.http.frames import as_bytes, as_text, read_frame, to_frame
from kleene.web.http.guard import Receive, Scope, Send
from kleene.web.http.limits import RefusedError
from kleene.web.http.processes import CONTEXT, start

if TYPE_CHECKING:
    from kleene.web.registry import ModelRegistry

LOGGER = logging.getLogger("kleene.background")
PAUSE, PATIENCE = 1.0, 5.0  # seconds before it is started again, and for its end
KEPT = ("type", "http_version", "method", "scheme", "path", "root_path", "authorized")
"""Parts of a request's scope that are handed over as they are."""

_Answer = asyncio.Future[tuple[dict[str, Any], bytes]]


class Background:
    """The background process, seen from the one that answers clients: an ASGI application.

    The process runs `work` with its end of a line and the arguments.
    """

    def __init__(self, work: Callable[..., None], *arguments: Any) -> None:
        self._work, self._arguments = work, arguments
        self._numbers = itertools.count(1)
        self._waiting: dict[int, _Answer] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._turn = asyncio.Lock()
        self.ready = False
        """Whether it has the models in memory."""

    def __enter__(self) -> Background:
        self._start()  # now: it needs a while to import what it runs
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()  # whereupon it ends
        self._process.join(PATIENCE)

    def _start(self) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            self._process = CONTEXT.Process(
                target=self._work,
                args=(theirs, *self._arguments),
                name="kleene-background",
                daemon=True,
            )
            start(self._process)

    async def run(self, registry: ModelRegistry) -> None:
        """Hand the models over and take answers until cancelled; whenever it ends, start again."""
        while True:
            try:
                await self._take_answers(registry)
            finally:
                self._fail_all()
            LOGGER.error("the background process ended; starting it again")
            await asyncio.sleep(PAUSE)
            self._start()

    async def _take_answers(self, registry: ModelRegistry) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            reader, self._writer = await asyncio.open_connection(sock=self._line)
            self._writer.write(to_frame(0, {}, pickle.dumps(registry)))
            while True:
                number, head, body = await read_frame(reader)
                self.ready = True
                answer = self._waiting.get(number)
                if answer is not None and not answer.done():
                    answer.set_result((head, body))

    def _fail_all(self) -> None:
        self.ready, writer, self._writer = False, self._writer, None
        if writer is not None:
            writer.close()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(_unavailable())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the process answer a request; when this is cancelled, its work ends."""
        head = {key: scope[key] for key in KEPT if key in scope}
        head["query_string"] = scope["query_string"].decode("latin-1")
        head["headers"] = as_text(scope["headers"])
        body = (await receive()).get("body", b"")
        number = next(self._numbers)
        answer = await self._sent(number, head, body)
        try:
            found, content = await answer
        finally:
            del self._waiting[number]
            if answer.cancelled() and self._writer is not None:
                self._writer.write(to_frame(number, {}, b""))
        headers = as_bytes(found["headers"])
        start = {"type": "http.response.start", "status": found["status"], "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": content})

    async def _sent(self, number: int, head: dict[str, Any], body: bytes) -> _Answer:
        """Send a request once those before it are on the line, so that few are held twice."""
        async with self._turn:
            with suppress(ConnectionError):
                if self._writer is not None:
                    await self._writer.drain()
            if self._writer is None:
                raise _unavailable()
            self._writer.write(to_frame(number, head, body))
            answer = self._waiting[number] = asyncio.get_running_loop().create_future()
            return answer


def _unavailable() -> RefusedError:
    return RefusedError(503, "the process for large requests is being started; try again later")
