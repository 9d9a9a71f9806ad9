"""Serving an application with uvicorn, in one process or several on the same socket.

uvicorn has workers, keep-alive limits and a graceful end. It has no deadline for the head of a
request, which `LimitedProtocol` adds.
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
from functools import partial
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
    load: Callable[[], Models],
    listening: socket.socket,
    *,
    access: Access,
    workers: int = 1,
    started: Callable[[], None] = lambda: None,
    **more: Any,
) -> None:
    """Load the models, call `started`, and answer requests until a signal ends the process.

    Each of several workers loads the models itself. `more` are settings of uvicorn.
    """
    models = load()
    app = partial(_worker_app, load, access)
    more |= {"factory": True, "workers": workers}
    if workers == 1:
        configuration = uvicorn_config(partial(app, models), **more)
        started()
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # which uvicorn calls at the end
        uvicorn.Server(configuration).run(sockets=[listening])
        return
    with tempfile.TemporaryDirectory(prefix="kleene-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # which the workers inherit
        configuration = uvicorn_config(app, **more)
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
        timeout_worker_healthcheck=60,
        **more,
    )


def _worker_app(load: Callable[[], Models], access: Access, models: Models | None = None) -> Guard:
    """The application of one process."""
    import torch

    from kleene.web.app import create_app

    torch.set_num_threads(1)  # requests are small and many: more threads would only wait
    sys.setswitchinterval(SWITCH_SECONDS)
    app = create_app(models or load(), access=access)
    gc.collect()
    gc.freeze()  # models stay in memory: no request waits while they are searched for garbage
    return app


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
