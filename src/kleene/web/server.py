"""Serving an application with uvicorn, in one process or several on the same socket.

uvicorn has workers, keep-alive limits and a graceful end. Two things it has not: a deadline for the
head of a request, and an answer for those who ask while it ends.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from kleene.errors import SettingError

if TYPE_CHECKING:
    from kleene.web.access import Access
    from kleene.web.guard import Guard
    from kleene.web.models import Models

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


def serve(
    settings: ServerSettings,
    listening: socket.socket,
    workers: int = 1,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Load the models, call `started`, and answer requests until a signal ends the process."""
    from kleene.web.models import load_models

    models = load_models(settings.models, settings.words, settings.proof)
    if workers == 1:
        app = partial(_worker_app, settings, models)
        configuration = uvicorn_config(app, factory=True, log_level=settings.log_level)
        started()
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # which uvicorn calls at the end
        uvicorn.Server(configuration).run(sockets=[listening])
        return
    del models  # it has reported all mistakes; each worker loads its own
    with tempfile.TemporaryDirectory(prefix="kleene-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # which the workers inherit
        more = {"factory": True, "log_level": settings.log_level, "workers": workers}
        configuration = uvicorn_config(partial(_worker_app, settings), **more)
        started()
        Multiprocess(configuration, [listening]).run()


def uvicorn_config(app: Guard | Callable[[], Guard], **more: Any) -> uvicorn.Config:
    """How uvicorn serves a guarded application, or one that a factory makes in the worker."""
    return uvicorn.Config(
        app,
        http=LimitedProtocol,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        timeout_keep_alive=10,
        timeout_graceful_shutdown=END_SECONDS,
        timeout_worker_healthcheck=60,
        **more,
    )


def _worker_app(settings: ServerSettings, models: Models | None = None) -> Guard:
    """The application of one process; uvicorn calls this once its signal handlers are set."""
    import torch

    from kleene.web.app import create_app
    from kleene.web.models import load_models

    models = models or load_models(settings.models, settings.words, settings.proof)
    torch.set_num_threads(1)  # requests are small and many: more threads would only wait
    sys.setswitchinterval(SWITCH_SECONDS)
    app = create_app(models, access=settings.access, root_path=settings.root_path)
    for number in (signal.SIGINT, signal.SIGTERM):
        _drain_first(app, settings.drain, number)
    gc.collect()
    gc.freeze()  # models stay in memory: no request waits while they are searched for garbage
    return app


def _drain_first(app: Guard, seconds: float, number: int) -> None:
    """On a signal refuse new requests; end once all others are answered, or after some seconds."""
    loop, end, deadline = asyncio.get_running_loop(), signal.getsignal(number), 0.0

    def begin() -> None:
        nonlocal deadline
        deadline = 0.0 if deadline else loop.time() + seconds  # a second signal ends at once
        app.draining = True
        wait()

    def wait() -> None:
        if app.in_progress and loop.time() < deadline:
            loop.call_later(0.05, wait)
        else:
            end(number, None)  # type: ignore[misc, operator]

    loop.add_signal_handler(number, begin)


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for the head of a request, and room for new connections.

    Clients that never finish a request must not keep others out. If there is no room, the
    connection that has waited longest without a whole request is closed.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._guard: Guard = self.config.loaded_app
        self.idle_since = self.loop.time()

    @property
    def awaits_head(self) -> bool:
        """Whether the next request has not begun, or its head is not complete."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, if necessary in place of one without a whole request."""
        super().connection_made(transport)
        self._check_head()
        if len(self.connections) > self._guard.limits.connections:
            others: list[Any] = list(self.connections - {self})
            idle = [one for one in others if one.awaits_head or one.cycle.more_body]
            min(idle, key=lambda one: one.idle_since, default=self).drop("no room")

    def on_response_complete(self) -> None:
        """Wait for the next request of the connection."""
        self.idle_since = self.loop.time()
        super().on_response_complete()

    def drop(self, why: str) -> None:
        """Close the connection without an answer."""
        self._guard.metrics.dropped.labels(why).inc()
        self.connections.discard(self)
        self.transport.abort()

    def _check_head(self) -> None:
        """Drop the connection if the head of a request is late; otherwise check again later."""
        seconds = self._guard.limits.header_seconds
        left = self.idle_since + seconds - self.loop.time()
        if self.transport.is_closing():
            return
        if left <= 0 and self.awaits_head:
            self.drop("slow head")
        else:
            self.loop.call_later(left if left > 0 else seconds, self._check_head)
