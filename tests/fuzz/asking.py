"""The server as a reader: requests whose routes, queries and bodies are spoiled."""

from __future__ import annotations

import asyncio
import json
import socket
import weakref
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread
from typing import Any

import uvicorn
from built_models import built_model
from readers import Reader, small_model

from kleene.errors import DataError
from kleene.languages import tomita
from kleene.web.app import create_app
from kleene.web.guard import Guard
from kleene.web.limits import Limits
from kleene.web.models import Models, Served
from kleene.web.server import bind, uvicorn_config

NESTED = ["a", 1, 1.5, None, True, ["b", [2, ["c", [3]]]]]
REQUESTS: Sequence[tuple[str, str, Any]] = (
    ("POST", "/predict", {"words": ["ab", "", ["a", "b"]], "model": "network"}),
    ("POST", "/predict", {"words": ["0110"]}),
    ("POST", "/predict", {"words": [[{}, {}, []] * 30, NESTED], "model": "network"}),
    ("POST", "/predict", {"words": [[{}] * 8_000]}),
    ("POST", "/predict", {"words": ["01" * 400] * 50}),
    ("POST", "/explain", {"word": "abba", "model": "network"}),
    ("POST", "/explain", {"word": ["0", "1"], "model": "automaton"}),
    ("POST", "/explain", {"word": NESTED, "model": "network"}),
    ("GET", "/automaton?model=network", None),
    ("GET", "/metrics", None),
    ("POST", "/upload?model=automaton", "word,label\n01,1\n"),
    ("POST", "/upload?model=automaton&text_column=word", 'word,x\n"0",\n'),
    ("POST", "/upload?model=automaton", "id,body\n1,0110\n2,=01\n"),
    ("POST", "/upload?model=network", '{"sequence": "ab"}\n{"sequence": ["a"]}\n'),
)
HEADERS = {
    "Host": "localhost:8000",
    "Origin": "http://localhost:8000",
    "Sec-Fetch-Site": "same-origin",
    "Content-Type": "application/json",
    "Connection": "close",
}


LIMITS = Limits(body=50_000, json=50_000, words=100, length=1_000, symbols=5_000, seconds=20)


def models() -> Models:
    """What is served."""
    entries = [Served("automaton", built_model(tomita(4).dfa)), Served("network", small_model())]
    return {entry.name: entry for entry in entries}


def server() -> Reader:
    """The application, asked without a socket; status 500 and above are its faults."""
    app, runner = create_app(models(), limits=LIMITS), asyncio.Runner()

    def read(content: bytes) -> object:
        status, answer = runner.run(_ask(app, content))
        assert 200 <= status < 500, (status, answer[:200])
        if status >= 400:
            raise DataError(str(json.loads(answer)["error"]))
        return answer

    weakref.finalize(read, runner.close)
    return Reader(name="HTTP requests", seeds=[_request(*one) for one in REQUESTS], read=read)


def raw_server() -> Reader:
    """The server behind a socket, which gets bytes that may be no HTTP, or half of a request."""
    listening = bind("127.0.0.1", 0)
    app = create_app(models(), limits=LIMITS)
    server = uvicorn.Server(uvicorn_config(app, log_config=None))
    Thread(target=server.run, args=([listening],), daemon=True).start()
    address = listening.getsockname()

    def read(content: bytes) -> object:
        answer = _exchange(address, content)
        status = answer.split(b" ", 2)[1] if answer.startswith(b"HTTP/1.1 ") else b""
        assert not status.startswith(b"5"), answer[:200]
        assert b" 200 " in _health(address), "the server is gone"
        if status[:1] != b"2":
            raise DataError(f"refused with {status!r}")
        return answer

    seeds = [_request(*one, version=" HTTP/1.1") for one in REQUESTS]
    return Reader(name="raw HTTP", seeds=seeds, read=read)


HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def _health(address: tuple[str, int]) -> bytes:
    with socket.create_connection(address, timeout=60) as line:
        line.sendall(HEALTH)
        return line.recv(65536)


def _exchange(address: tuple[str, int], content: bytes) -> bytes:
    """Send, and read until the end; where no answer comes, more of the request was expected."""
    answer = b""
    with socket.create_connection(address, timeout=0.1) as line, suppress(ConnectionError):
        line.sendall(content)
        while True:
            try:
                part = line.recv(65536)
            except TimeoutError:
                line.settimeout(30)
                line.shutdown(socket.SHUT_WR)
                continue
            if not part:
                break
            answer += part
    return answer


def _request(method: str, target: str, body: Any, version: str = "") -> bytes:
    text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    headers = {**HEADERS, "Content-Length": str(len(text.encode()))}
    lines = [
        f"{method} {target}{version}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", text]).encode()


async def _ask(app: Guard, content: bytes) -> tuple[int, bytes]:
    """Put a request to the application as a server would."""
    head, _, body = content.partition(b"\r\n\r\n")
    line, *headers = head.split(b"\r\n")
    method, _, target = line.decode("latin-1").partition(" ")
    path, _, query = target.partition("?")
    pairs = [header.partition(b":") for header in headers]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method[:20] or "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.strip().lower(), value.strip()) for name, _, value in pairs],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    sent: list[Any] = []
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if not parts:
            await asyncio.get_running_loop().create_future()  # the client stays
        return parts.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(part.get("body", b"") for part in sent[1:])
