"""The background process: it answers large and slow requests, so that short ones never wait.

One Python process runs one piece of Python at a time. Whatever reads a megabyte of JSON, splits a
file into words or searches for a difference would hold up all other requests, in a thread as well
as in the event loop. Here such requests are handed to a second process with the same models, at a
lower priority. It takes any number of requests at a time, drops those whose client is gone, and is
started again when it ends.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import logging
import multiprocessing
import os
import pickle
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kleene.web.http.access_log import set_up_logs
from kleene.web.http.guard import Receive, Scope, Send
from kleene.web.http.limits import RefusedError
from kleene.web.http.metrics import Metrics

if TYPE_CHECKING:
    from kleene.web.registry import ModelRegistry

LOGGER = logging.getLogger("kleene.background")
NICE = 10  # how much the background yields to what answers short requests
SWITCH = 0.0005  # seconds after which a thread that reads a batch lets the event loop go on
PAUSE, PATIENCE = 1.0, 5.0  # seconds before it is started again, and for its end
CONTEXT = multiprocessing.get_context("spawn")
KEPT = ("type", "http_version", "method", "scheme", "path", "root_path", "authorized")
"""Parts of a request's scope that are handed over as they are."""
FRAME = struct.Struct("!QIQ")  # number of the request, bytes of its head, bytes of its body

_Answer = asyncio.Future[tuple[dict[str, Any], bytes]]


class Background:
    """The background process, seen from the one that answers clients: an ASGI application."""

    def __init__(self, shared: Any, row: int, log_level: str, log_json: bool) -> None:
        self._arguments = (shared, row, log_level, log_json)
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
                target=_work, args=(theirs, *self._arguments), name="kleene-background", daemon=True
            )
            self._process.start()

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
            self._writer.write(_frame(0, {}, pickle.dumps(registry)))
            while True:
                number, head, body = await _read(reader)
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
        head["headers"] = _as_text(scope["headers"])
        body = (await receive()).get("body", b"")
        number = next(self._numbers)
        answer = await self._sent(number, head, body)
        try:
            found, content = await answer
        finally:
            del self._waiting[number]
            if answer.cancelled() and self._writer is not None:
                self._writer.write(_frame(number, {}, b""))
        headers = _as_bytes(found["headers"])
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
            self._writer.write(_frame(number, head, body))
            answer = self._waiting[number] = asyncio.get_running_loop().create_future()
            return answer


def _unavailable() -> RefusedError:
    return RefusedError(503, "the process for large requests is being started; try again later")


# -- the other process ---------------------------------------------------------------------------


def _work(line: socket.socket, shared: Any, row: int, log_level: str, log_json: bool) -> None:
    """What the background process does until the other end of the line is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that it belongs to
    with suppress(OSError):
        os.nice(NICE)
    import torch

    torch.set_num_threads(1)
    sys.setswitchinterval(SWITCH)
    set_up_logs(log_level, as_json=log_json)
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        asyncio.run(_answer_all(line, Metrics(shared, row)))
    os._exit(0)  # threads that still work have nobody to work for


async def _answer_all(line: socket.socket, metrics: Metrics) -> None:
    from kleene.web.app import create_app

    reader, writer = await asyncio.open_connection(sock=line)
    _, _, models = await _read(reader)
    registry: ModelRegistry = pickle.loads(models)
    del models
    for entry in registry:
        entry.warm_up()
    app = create_app(registry, metrics=metrics).app
    gc.collect()
    gc.freeze()
    writer.write(_frame(0, {}, b""))
    tasks: dict[int, asyncio.Task[None]] = {}

    async def answer(number: int, scope: dict[str, Any], body: bytes) -> None:
        try:
            head, content = await _answered(app, scope, body)
            writer.write(_frame(number, head, content))
        finally:
            del tasks[number]

    while True:
        number, head, body = await _read(reader)
        if head:
            tasks[number] = asyncio.create_task(answer(number, head, body))
        elif number in tasks:
            tasks[number].cancel()


async def _answered(app: Any, head: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """The status, the headers and the content with which an application answers."""
    start: dict[str, Any] = {"status": 500, "headers": []}
    parts: list[bytes] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        start.update(message)
        parts.append(message.get("body", b""))

    scope = {
        **head,
        "headers": _as_bytes(head["headers"]),
        "query_string": head["query_string"].encode("latin-1"),
    }
    try:
        await app(scope, receive, send)
    except Exception:
        LOGGER.exception("a request failed")
    return {"status": start["status"], "headers": _as_text(start["headers"])}, b"".join(parts)


# -- frames --------------------------------------------------------------------------------------


def _frame(number: int, head: dict[str, Any], body: bytes) -> bytes:
    encoded = json.dumps(head).encode()
    return b"".join((FRAME.pack(number, len(encoded), len(body)), encoded, body))


async def _read(reader: asyncio.StreamReader) -> tuple[int, dict[str, Any], bytes]:
    number, head, body = FRAME.unpack(await reader.readexactly(FRAME.size))
    return number, json.loads(await reader.readexactly(head)), await reader.readexactly(body)


def _as_text(headers: Any) -> list[list[str]]:
    return [[part.decode("latin-1") for part in header] for header in headers]


def _as_bytes(headers: Any) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
