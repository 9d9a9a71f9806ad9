"""One server process or several on the same socket."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.automata import DFA
from kleene.model import Model
from kleene.web.http.access import Access
from kleene.web.http.access_log import set_up_logs
from kleene.web.http.background import Background
from kleene.web.http.metrics import Metrics
from kleene.web.http.processes import CONTEXT, start

if TYPE_CHECKING:
    import uvicorn

RESTARTS = 5  # of workers that ended by themselves, in all


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """What a worker needs to know."""

    models: tuple[Path, ...]
    words: tuple[Any, ...] = ()
    """To read the models along."""
    access: Access
    root_path: str = ""
    log_level: str = "warning"
    log_json: bool = False


def serve_models(
    settings: ServerSettings,
    listening: socket.socket,
    shared: Any = None,
    row: int = 0,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Load the models, call `started`, and answer requests until a signal ends the process.

    It counts in two rows of the shared numbers: its own, and that of its background process.
    """
    import torch

    from kleene.nn.fused import load_kernels
    from kleene.web.app import create_app
    from kleene.web.http.server import make_server
    from kleene.web.registry import ModelRegistry

    torch.set_num_threads(1)  # requests are small and many: more threads would only wait
    shared = CONTEXT.RawArray("d", Metrics.size(2)) if shared is None else shared
    logs = settings.log_level, settings.log_json
    with Background(_answer, shared, row + 1, *logs) as background:
        registry = ModelRegistry.load(settings.models, settings.words)
        load_kernels()  # before the first request, which would wait for it
        app = create_app(
            registry,
            access=settings.access,
            metrics=Metrics(shared, row),
            root_path=settings.root_path,
            background=background,
        )
        set_up_logs(settings.log_level, as_json=settings.log_json)
        gc.collect()
        gc.freeze()  # models stay in memory: no request waits while they are searched for garbage
        started()
        asyncio.run(_serve(make_server(app), listening, background.run(registry)))


def _answer(*arguments: Any) -> None:
    """Be the background process; what it runs is imported there."""
    from kleene.web.http.background_work import work

    work(*arguments)


async def _serve(
    server: uvicorn.Server, listening: socket.socket, beside: Coroutine[Any, Any, None]
) -> None:
    task = asyncio.create_task(beside)
    try:
        await server.serve(sockets=[listening])
    finally:
        task.cancel()


def serve_in_workers(
    settings: ServerSettings, listening: socket.socket, count: int, started: Callable[[], None]
) -> None:
    """Run worker processes until a signal ends this one; a worker that dies is replaced."""
    for path in settings.models:  # what is wrong with them is said once, here
        _ = DFA.load(path) if path.is_file() else Model.load(path)
    shared = CONTEXT.RawArray("d", Metrics.size(2 * count))

    def start_worker(row: int) -> BaseProcess:
        worker = CONTEXT.Process(
            target=_work, args=(settings, listening, shared, 2 * row), name=f"kleene-{row}"
        )
        start(worker)
        return worker

    ending = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ending.set())
    workers, restarts = [start_worker(row) for row in range(count)], 0
    started()
    try:
        while not ending.wait(0.2):
            for row, worker in enumerate(workers):
                if not worker.is_alive() and restarts < RESTARTS:
                    restarts += 1
                    workers[row] = start_worker(row)
            if not any(worker.is_alive() for worker in workers):
                return
    finally:
        _end(workers)


def _work(settings: ServerSettings, listening: socket.socket, shared: Any, row: int) -> None:
    serve_models(settings, listening, shared, row)


def _end(workers: list[BaseProcess]) -> None:
    for worker in workers:
        worker.terminate()
    deadline = time.monotonic() + 5
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
        if worker.is_alive():
            worker.kill()
