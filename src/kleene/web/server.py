"""Running an application with uvicorn, on this machine only unless told otherwise."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from kleene.errors import SettingError
from kleene.web.guard import App

if TYPE_CHECKING:
    import uvicorn

LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]"})


def own_names(host: str) -> frozenset[str] | None:
    """The names by which a server on this host may be asked; None for any."""
    return LOCAL if host in ("127.0.0.1", "localhost", "::1") else None


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


def make_server(app: App) -> uvicorn.Server:
    """A server with limits of its own; `run(sockets=[...])` starts it."""
    import uvicorn

    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="off",
        limit_concurrency=512,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)


def address(listening: socket.socket) -> str:
    """Where a browser finds the server."""
    host, port = listening.getsockname()[:2]
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"
