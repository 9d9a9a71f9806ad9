"""What every request must pass: host, token, size and time; and the headers of every answer."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

OPEN = ("/", "/kleene.js", "/kleene.css", "/health")
"""What needs no token: the page itself holds nothing."""
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much one request may ask for."""

    body: int = 8 * 2**20
    """Bytes."""
    words: int = 1_000
    length: int = 20_000
    """Symbols of one word."""
    symbols: int = 200_000
    """Symbols of all words of a request, files excepted."""
    seconds: float = 30.0
    """For the answer; a body must have come within as long."""


class RefusedError(Exception):
    """A request that is turned away."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Guard:
    """Stands before an application."""

    def __init__(
        self, app: App, *, limits: Limits, token: str | None = None, hosts: frozenset[str] | None
    ) -> None:
        self.app, self.limits, self.token, self.hosts = app, limits, token, hosts

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Turn the request away, or let it through."""
        if scope["type"] != "http":
            return
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        try:
            self._check(scope)
            body = await self._body(scope, receive)
            await self.app(scope, _replay(body, receive), answer)
        except RefusedError as refused:
            if not started:
                await _refuse(answer, refused)

    def _check(self, scope: MutableMapping[str, Any]) -> None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "").rsplit(":", 1)[0] if b"host" in headers else ""
        if self.hosts is not None and host not in self.hosts:
            raise RefusedError(
                403, "this server answers to its own name only; open it by its address"
            )
        if headers.get(b"sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise RefusedError(403, "other sites may not ask this server")
        if self.token is not None and scope["path"] not in OPEN:
            came = headers.get(b"authorization", "")
            if not hmac.compare_digest(came.encode(), f"Bearer {self.token}".encode()):
                raise RefusedError(
                    401, "a token is needed; send the header Authorization: Bearer TOKEN"
                )
        length = headers.get(b"content-length", "0")
        if not length.isdigit() or int(length) > self.limits.body:
            raise RefusedError(
                413, f"the body may have {self.limits.body:,} bytes; send less at a time"
            )

    async def _body(self, scope: MutableMapping[str, Any], receive: Receive) -> bytes:
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.limits.seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RefusedError(400, "the client went away")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self.limits.body:
                        limit = f"{self.limits.body:,} bytes"
                        raise RefusedError(413, f"the body may have {limit}; send less at a time")
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise RefusedError(408, "the body took too long to come; send it faster") from None


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that was read, in one piece; then whatever comes."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _refuse(send: Send, refused: RefusedError) -> None:
    content = json.dumps({"error": refused.reason}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
    ]
    if refused.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if refused.status in (408, 413):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
