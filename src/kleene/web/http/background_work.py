"""What the background process does: it answers the requests that the server hands over."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import pickle
import socket
import sys
from contextlib import suppress
from functools import partial
from typing import Any

import torch

from kleene.web.app import create_app
from kleene.web.http.access_log import set_up_logs
from kleene.web.http.frames import as_bytes, as_text, read_frame, to_frame
from kleene.web.http.metrics import Metrics
from kleene.web.registry import ModelRegistry

LOGGER = logging.getLogger("kleene.background")
NICE = 10  # how much it yields to the process that answers short requests
SWITCH = 0.0005  # seconds after which a thread that reads a batch lets the event loop go on


def work(line: socket.socket, shared: Any, row: int, log_level: str, log_json: bool) -> None:
    """What the background process does until the other end of the line is closed."""
    with suppress(OSError):
        os.nice(NICE)
    torch.set_num_threads(1)
    sys.setswitchinterval(SWITCH)
    set_up_logs(log_level, as_json=log_json)
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        asyncio.run(_answer_all(line, Metrics(shared, row)))
    os._exit(0)  # threads that still work have nobody to work for


async def _answer_all(line: socket.socket, metrics: Metrics) -> None:
    reader, writer = await asyncio.open_connection(sock=line)
    _, _, models = await read_frame(reader)
    registry: ModelRegistry = pickle.loads(models)
    del models
    for entry in registry:
        entry.warm_up()
    app = create_app(registry, metrics=metrics).app
    gc.collect()
    gc.freeze()
    writer.write(to_frame(0, {}, b""))
    tasks: dict[int, asyncio.Task[None]] = {}

    async def answer(number: int, scope: dict[str, Any], body: bytes) -> None:
        head, content = await _answered(app, scope, body)
        writer.write(to_frame(number, head, content))

    while True:
        number, head, body = await read_frame(reader)
        if head:
            task = tasks[number] = asyncio.create_task(answer(number, head, body))
            task.add_done_callback(partial(_forget, tasks, number))
        elif number in tasks:
            tasks[number].cancel()


def _forget(tasks: dict[int, asyncio.Task[None]], number: int, _: Any) -> None:
    del tasks[number]


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
        "headers": as_bytes(head["headers"]),
        "query_string": head["query_string"].encode("latin-1"),
    }
    try:
        await app(scope, receive, send)
    except Exception:
        LOGGER.exception("a request failed")
    return {"status": start["status"], "headers": as_text(start["headers"])}, b"".join(parts)
