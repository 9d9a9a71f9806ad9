"""Running an application with uvicorn, on this machine only by default."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from kleene.errors import SettingError
from kleene.web.http.guard import Guard

if TYPE_CHECKING:
    import uvicorn


def bind(host: str, port: int) -> socket.socket:
    """A socket to listen on, or an error that says what to do; port 0 takes any that is free."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=256)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # answers wait for nobody
        return listening
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingError(
            f"cannot listen on {host} port {port}: {reason}; give another --port"
        ) from None


def make_server(app: Guard) -> uvicorn.Server:
    """A server with the limits of the guard; `run(sockets=[...])` starts it."""
    import uvicorn

    from kleene.web.http.protocol import limited_protocol

    config = uvicorn.Config(
        app,
        http=limited_protocol(app.limits, app.metrics),
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="off",
        timeout_keep_alive=10,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)


def address(listening: socket.socket) -> str:
    """Where a browser finds the server."""
    host, port = listening.getsockname()[:2]
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"
