"""What every request passes: access, size and time; and what every answer carries."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from kleene.web.http.access import Access
from kleene.web.http.access_log import Entry, log_access
from kleene.web.http.limits import Limits, RefusedError
from kleene.web.http.metrics import Metrics

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SMALL = 64 * 2**10  # bytes of a body that is always taken, however many there are
UPLOAD = "/upload"
SLOW = (UPLOAD, "/explain", "/compare", "/difference", "/automaton", "/extract")
"""Paths whose work has no small bound."""
SHORT = 4 * 2**10  # bytes of a body that is read sooner than it is handed over
GONE = 499  # what the logs say where the client went away
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Guard:
    """Stands before an application."""

    def __init__(
        self,
        app: App,
        *,
        limits: Limits | None = None,
        access: Access,
        metrics: Metrics | None = None,
        root_path: str = "",
        background: App | None = None,
    ) -> None:
        self.app, self.access, self.root_path = app, access, root_path
        self.background = background or app
        self.limits, self.metrics = limits or Limits(), metrics or Metrics()
        self._buffered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or let it through."""
        if scope["type"] == "http":
            await _Exchange(self, scope, receive, send).run()

    def reserve(self, amount: int) -> None:
        """Take room for a part of a large body, or refuse it."""
        if self._buffered + amount > self.limits.buffered:
            raise RefusedError(429, "too many large requests at a time; try again later")
        self._buffered += amount
        self.metrics.set("buffered", value=self._buffered)

    def release(self, amount: int) -> None:
        """Give room back."""
        self._buffered -= amount
        self.metrics.set("buffered", value=self._buffered)

    def path(self, scope: Scope) -> str:
        """The path of a request, without the prefix under which a proxy serves it."""
        path = str(scope["path"])
        if self.root_path and (path == self.root_path or path.startswith(f"{self.root_path}/")):
            return path[len(self.root_path) :] or "/"
        return path


class _Exchange:
    """One request and its answer."""

    def __init__(self, guard: Guard, scope: Scope, receive: Receive, send: Send) -> None:
        self.guard, self.scope = guard, dict(scope)
        self._receive, self._send = receive, send
        self.path = guard.path(scope)
        if guard.root_path:
            self.scope |= {"root_path": guard.root_path, "path": guard.root_path + self.path}
        self.headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        self.status, self.size, self._reserved = 0, 0, 0

    async def run(self) -> None:
        """Check, answer, count and log."""
        metrics, started = self.guard.metrics, time.perf_counter()
        metrics.add("in progress")
        try:
            await self._answered()
        finally:
            self.guard.release(self._reserved)
            metrics.add("in progress", amount=-1)
            seconds = time.perf_counter() - started
            metrics.request(self.path, self.status or GONE, seconds)
            client = self.scope.get("client") or ("unknown", 0)
            log_access(
                Entry(
                    client=client[0],
                    method=self.scope["method"],
                    path=self.path,
                    status=self.status or GONE,
                    milliseconds=1000 * seconds,
                    received=self.size,
                )
            )

    async def _answered(self) -> None:
        try:
            known = self.guard.access.check_sender(self.path, self.headers)
            if self._is_preflight():
                await self.send({"type": "http.response.start", "status": 204, "headers": []})
                await self.send({"type": "http.response.body", "body": b""})
                return
            authorized = self.guard.access.check_token(self.path, self.headers)
            self.scope["authorized"] = authorized and known
            self._check_length()
            await self._let_through(await self._body())
        except RefusedError as refused:
            if not self.status:
                await _refuse(self.send, refused)

    async def _let_through(self, body: bytes) -> None:
        """Run the application until it has answered or the client is gone."""
        slow = self.path in SLOW or len(body) > SHORT
        app = self.guard.background if slow else self.guard.app
        work = asyncio.ensure_future(app(self.scope, _replay(body), self.send))
        gone = asyncio.ensure_future(self._gone())
        limits = self.guard.limits
        most = 2 * max(limits.seconds, limits.upload_seconds)  # a client that does not read
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED, timeout=most)
            late = not (work.done() or gone.done())
            if not work.done():
                self.guard.metrics.add("abandoned")
        finally:
            gone.cancel()
            if not work.done():
                work.cancel()
                with suppress(asyncio.CancelledError):
                    await work
        if late:
            raise RefusedError(503, "no answer in time; try again later")
        if not work.cancelled():
            work.result()

    async def _gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def send(self, message: Message) -> None:
        """Pass an answer on, with the headers that all have."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            extra = dict(HEADERS)
            origin = self.headers.get(b"origin", "")
            if self.guard.access.allows_origin(origin):
                extra |= {
                    "access-control-allow-origin": origin,
                    "access-control-allow-headers": "authorization, content-type",
                    "access-control-allow-methods": "GET, POST",
                    "vary": "origin",
                }
            encoded = [(name.encode(), value.encode("latin-1")) for name, value in extra.items()]
            message["headers"] = [*message.get("headers", []), *encoded]
        await self._send(message)

    def _is_preflight(self) -> bool:
        asked = b"access-control-request-method" in self.headers
        origin = self.headers.get(b"origin", "")
        return (
            self.scope["method"] == "OPTIONS" and asked and self.guard.access.allows_origin(origin)
        )

    @property
    def _most(self) -> int:
        return self.guard.limits.body if self.path == UPLOAD else self.guard.limits.json

    def _check_length(self) -> None:
        length = self.headers.get(b"content-length")
        if length is not None and b"transfer-encoding" in self.headers:
            raise RefusedError(400, "Content-Length and Transfer-Encoding exclude each other")
        if length is not None and not (length.isascii() and length.isdigit()):
            raise RefusedError(400, "Content-Length must be a number")
        if length is not None and (len(length) > 18 or int(length) > self._most):
            raise self._too_large()

    def _too_large(self) -> RefusedError:
        cure = "send less at a time" if self.path == UPLOAD else "send less, or use /upload"
        return RefusedError(413, f"the body must have at most {self._most:,} bytes; {cure}")

    async def _body(self) -> bytes:
        parts = []
        try:
            async with asyncio.timeout(self.guard.limits.seconds):
                while True:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise RefusedError(400, "the client went away")
                    part = message.get("body", b"")
                    parts.append(part)
                    self.size += len(part)
                    if self.size > self._most:
                        raise self._too_large()
                    if self.size > SMALL:
                        self.guard.reserve(self.size - self._reserved)
                        self._reserved = self.size
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise RefusedError(408, "the body took too long; send it faster") from None


def _replay(body: bytes) -> Receive:
    """The body that was read, in one piece; whether the client is still there is watched apart."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await asyncio.get_running_loop().create_future()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def _refuse(send: Send, refused: RefusedError) -> None:
    content = json.dumps({"error": refused.reason}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
    ]
    if refused.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if refused.status == 429:
        headers.append((b"retry-after", b"1"))
    if refused.status in (400, 408, 413, 429):  # there may be more of the body to come
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
