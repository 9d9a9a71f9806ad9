"""Serving an application with uvicorn, in one process or several on the same socket."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kleene.errors import SettingError

if TYPE_CHECKING:
    from kleene.web.access import Access
    from kleene.web.guard import Guard

MAX_RESTARTS = 5  # of all workers together
SWITCH_SECONDS = 0.0005  # after which the thread for large requests lets others go on
END_SECONDS = 2  # for connections to close once the requests are answered


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Everything that a worker process needs to know."""

    models: tuple[Path, ...]
    words: tuple[Any, ...] = ()
    """Texts to read the models on."""
    proof: Path | None = None
    """A certificate that must hold of every model."""
    access: Access
    root_path: str = ""
    drain: float = 5.0
    """Seconds that requests in progress have to end after SIGTERM."""
    log_level: str = "warning"
    log_json: bool = False


def bind(host: str, port: int) -> socket.socket:
    """A socket to listen on, or an error that says what to do; port 0 takes any free one."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=256)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # send answers at once
        return listening
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingError(
            f"cannot listen on {host} port {port}: {reason}; give another --port"
        ) from None


def address(listening: socket.socket) -> str:
    """Where a browser finds the server."""
    host, port = listening.getsockname()[:2]
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"


class Server(uvicorn.Server):
    """A server that answers the requests in progress before it ends, and new ones with 503."""

    def __init__(self, app: Guard, drain: float = 0.0) -> None:
        config = uvicorn.Config(
            app,
            http=LimitedProtocol,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="off",
            timeout_keep_alive=10,
            timeout_graceful_shutdown=END_SECONDS,
        )
        super().__init__(config)
        self._app, self._drain, self._deadline = app, drain, 0.0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; a second signal ends at once."""
        if self._app.draining:
            super().handle_exit(sig, frame)
        self._app.draining = True
        self._deadline = time.monotonic() + self._drain

    async def on_tick(self, counter: int) -> bool:
        """End once all requests are answered or their time is up."""
        late = time.monotonic() >= self._deadline
        if self._app.draining and (late or not self._app.in_progress):
            self.should_exit = True
        return await super().on_tick(counter)


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for the head of a request, and room for new connections.

    Clients that never finish a request must not keep others out. If there is no room, the
    connection that has waited longest without a whole request is closed.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._guard: Guard = self.config.app  # type: ignore[assignment]
        self._head_timer: asyncio.TimerHandle | None = None
        self.idle_since = self.loop.time()
        self.served = False
        """Whether the connection has had an answer."""

    @property
    def in_progress(self) -> bool:
        """Whether a whole request has arrived and is being answered."""
        cycle = self.cycle
        return cycle is not None and not (cycle.response_complete or cycle.more_body)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, if necessary in place of an idle one."""
        super().connection_made(transport)
        self._await_head()
        others = [other for other in self.connections if other is not self]
        if len(others) >= self._guard.limits.connections:
            self._make_room(others)

    def data_received(self, data: bytes) -> None:
        """Read; the deadline ends when the head of the request is complete."""
        if self._awaits_head and self._head_timer is None:
            self._await_head()
        super().data_received(data)
        if not self._awaits_head:
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Wait for the next request of the connection."""
        self.served, self.idle_since = True, self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def drop(self, reason: str) -> None:
        """Close the connection without an answer."""
        self._guard.metrics.dropped.labels(reason).inc()
        self.connections.discard(self)
        self.transport.abort()

    @property
    def _awaits_head(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _make_room(self, others: Iterable[Any]) -> None:
        idle = [other for other in others if not other.in_progress]
        if idle:
            min(idle, key=lambda other: (other.served, other.idle_since)).drop("displaced")
        else:
            self.drop("no room")

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self._guard.limits.header_seconds, self._too_late)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_late(self) -> None:
        self._head_timer = None
        if self._awaits_head and not self.transport.is_closing():
            self.drop("slow head")


def serve(
    settings: ServerSettings,
    listening: socket.socket,
    workers: int = 1,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Load the models, call `started`, and answer requests until a signal ends the process."""
    from kleene.web.models import ModelRegistry

    registry = ModelRegistry.load(settings.models, settings.words, settings.proof)
    if workers == 1:
        _serve(settings, listening, registry, started)
    else:
        del registry  # it has reported all mistakes; each worker loads its own
        with tempfile.TemporaryDirectory(prefix="kleene-metrics-") as folder:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # which the workers inherit
            _supervise(settings, listening, workers, started)


def _serve(
    settings: ServerSettings, listening: socket.socket, registry: Any, started: Callable[[], None]
) -> None:
    import torch

    from kleene.web.app import create_app
    from kleene.web.monitoring import set_up_logs

    torch.set_num_threads(1)  # requests are small and many: more threads would only wait
    sys.setswitchinterval(SWITCH_SECONDS)
    set_up_logs(settings.log_level, as_json=settings.log_json)
    app = create_app(registry, access=settings.access, root_path=settings.root_path)
    gc.collect()
    gc.freeze()  # models stay in memory: no request waits while they are searched for garbage
    started()
    Server(app, settings.drain).run(sockets=[listening])


def _work(settings: ServerSettings, listening: socket.socket) -> None:
    """Be one of several worker processes."""
    from kleene.web.models import ModelRegistry

    registry = ModelRegistry.load(settings.models, settings.words, settings.proof)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # Ctrl-C reaches the parent only
    _serve(settings, listening, registry, lambda: None)


def _supervise(
    settings: ServerSettings, listening: socket.socket, count: int, started: Callable[[], None]
) -> None:
    """Run worker processes until a signal ends this one; a worker that dies is replaced."""
    context = multiprocessing.get_context("spawn")
    resource_tracker.ensure_running()  # its start would unblock the signals again

    def start_worker() -> BaseProcess:
        worker = context.Process(target=_work, args=(settings, listening), name="kleene-worker")
        ended = {signal.SIGINT, signal.SIGTERM}  # the worker inherits the mask
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ended)
        worker.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return worker

    ending = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ending.set())
    workers, restarts = [start_worker() for _ in range(count)], 0
    started()
    while not ending.wait(0.2) and any(worker.is_alive() for worker in workers):
        for i, worker in enumerate(workers):
            if not worker.is_alive() and restarts < MAX_RESTARTS:
                restarts += 1
                workers[i] = start_worker()
    for worker in workers:
        worker.terminate()
    deadline = time.monotonic() + settings.drain + 2 * END_SECONDS
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
        if worker.is_alive():
            worker.kill()
