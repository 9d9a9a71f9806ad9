"""The server as a reader: requests whose routes, queries and bodies are spoiled."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from readers import Reader, small_model

from kleene.errors import DataError
from kleene.languages import tomita
from kleene.web.app import create_app
from kleene.web.entries import Automaton, Network
from kleene.web.http.guard import Guard
from kleene.web.http.limits import Limits
from kleene.web.registry import ModelRegistry

REQUESTS: Sequence[tuple[str, str, Any]] = (
    ("POST", "/predict", {"words": ["ab", "", ["a", "b"]], "model": "network"}),
    ("POST", "/predict", {"words": ["0110"]}),
    ("POST", "/explain", {"word": "abba", "model": "network"}),
    ("POST", "/explain", {"word": ["0", "1"], "model": "automaton"}),
    ("POST", "/compare", {"one": "automaton", "two": "automaton", "word": "01"}),
    ("GET", "/difference?one=automaton&two=automaton", None),
    ("GET", "/automaton?model=network", None),
    ("POST", "/upload?model=automaton", "word,label\n01,1\n"),
    ("POST", "/upload?model=automaton&text_column=word", 'word,x\n"0",\n'),
    ("POST", "/upload?model=network", '{"sequence": "ab"}\n{"sequence": ["a"]}\n'),
)


def server() -> Reader:
    """What `kleene serve` would answer to; status 500 and above are its faults."""
    entries = [Automaton("automaton", tomita(4).dfa), Network("network", small_model())]
    limits = Limits(body=50_000, words=100, length=1_000, symbols=5_000, seconds=20)
    app = create_app(ModelRegistry({entry.name: entry for entry in entries}), limits=limits)
    runner = asyncio.Runner()

    def read(content: bytes) -> object:
        status, answer = runner.run(_ask(app, content))
        assert 200 <= status < 500, (status, answer[:200])
        if status >= 400:
            raise DataError(str(json.loads(answer)["error"]))
        return answer

    return Reader(name="HTTP requests", seeds=[_request(*one) for one in REQUESTS], read=read)


def _request(method: str, target: str, body: Any) -> bytes:
    text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    return f"{method} {target}\n{text}".encode()


async def _ask(app: Guard, content: bytes) -> tuple[int, bytes]:
    """Put a request to the application as a server would."""
    line, _, body = content.partition(b"\n")
    method, _, target = line.decode("latin-1").partition(" ")
    path, _, query = target.partition("?")
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
        "headers": [(b"content-type", b"application/json"), (b"host", b"localhost")],
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
