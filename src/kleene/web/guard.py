"""The layer every request passes: access, size and time limits, metrics, the log."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kleene.web.access import LOCAL, Access
from kleene.web.background import Background
from kleene.web.limits import Limits, RefusedError
from kleene.web.monitoring import Metrics, log_access

Result = TypeVar("Result")
LOGGER = logging.getLogger("kleene.server")

ALWAYS_TAKEN = 64 * 2**10  # bytes of a body that is read however many others are held
SHORT = 4 * 2**10  # bytes of a body that is answered at once
UPLOAD = "/upload"
SLOW = (UPLOAD, "/difference")
"""Paths whose requests are always large."""
GONE = 499  # status in the log when the client went away
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
    """An ASGI application that checks requests before another application answers them."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: Limits | None = None,
        access: Access = LOCAL,
        metrics: Metrics | None = None,
        root_path: str = "",
    ) -> None:
        self.app, self.access, self.root_path = app, access, root_path
        self.limits, self.metrics = limits or Limits(), metrics or Metrics()
        self.background = Background(self.limits, self.metrics)
        self.draining = False
        """Whether the server is about to end: new requests get 503."""
        self.in_progress = 0
        self._buffered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, count and log a request."""
        if scope["type"] != "http":
            return
        started, headers = time.perf_counter(), Headers(scope=scope)
        scope = self._below_prefix(scope)
        path = scope["path"].removeprefix(self.root_path)
        body = _Body(self, path)
        self._count_in_progress(1)
        status = GONE
        try:
            try:
                response = await self._respond(scope, path, headers, body, receive)
            except RefusedError as refused:
                response = refusal(refused)
            except Exception:
                LOGGER.exception("a request failed")
                response = refusal(RefusedError(500, "internal error; see the server's log"))
            if response is not None:
                response.headers.update(HEADERS | self.access.cors(headers))
                status = response.status_code
                await response(scope, receive, send)
        finally:
            body.release()
            self._count_in_progress(-1)
            seconds = time.perf_counter() - started
            self.metrics.count(path, status, seconds)
            client = (scope.get("client") or ("unknown", 0))[0]
            log_access(client, scope["method"], path, status, seconds, body.size)

    async def _respond(
        self, scope: Scope, path: str, headers: Headers, body: _Body, receive: Receive
    ) -> Response | None:
        """The answer, or None if the client went away."""
        if self.draining and path != "/health":
            raise RefusedError(503, "the server is shutting down; try again later")
        scope["authorized"] = self.access.check(scope["method"], path, headers)
        if self.access.is_preflight(scope["method"], headers):
            return Response(status_code=204)
        content = await body.read(headers, receive)
        if path not in SLOW and len(content) <= SHORT:
            return await _answer(self.app, scope, content)

        def job() -> Response:
            return asyncio.run(_answer(self.app, scope, content))

        seconds = self.limits.upload_seconds if path == UPLOAD else self.limits.seconds
        try:
            async with asyncio.timeout(seconds):
                work = self.background.run(job, len(content))
                answer = await _unless_gone(receive, work)
        except TimeoutError:
            message = f"no answer within {seconds:g} s; send less, or try again later"
            raise RefusedError(503, message) from None
        if answer is None:
            self.metrics.abandoned.inc()
        return answer

    def _below_prefix(self, scope: Scope) -> Scope:
        """The request with the prefix of the proxy in its path, whether or not it was there."""
        path, prefix = scope["path"], self.root_path
        if prefix and path != prefix and not path.startswith(f"{prefix}/"):
            path = prefix + path
        return {**scope, "path": f"{prefix}/" if path == prefix else path, "root_path": prefix}

    def _count_in_progress(self, change: int) -> None:
        self.in_progress += change
        self.metrics.in_progress.set(self.in_progress)

    def buffer(self, change: int) -> None:
        """Take or give back room for large bodies."""
        if self._buffered + change > self.limits.buffered:
            raise RefusedError(429, "too many large requests at a time; try again later")
        self._buffered += change
        self.metrics.buffered.set(self._buffered)


class _Body:
    """The body of one request, read within its limits."""

    def __init__(self, guard: Guard, path: str) -> None:
        self._guard, self._limits, self._path = guard, guard.limits, path
        self.size = self._reserved = 0

    async def read(self, headers: Headers, receive: Receive) -> bytes:
        """All bytes, or a refusal."""
        length = headers.get("content-length")
        if length is not None and "transfer-encoding" in headers:
            raise RefusedError(400, "Content-Length and Transfer-Encoding exclude each other")
        if length is not None and not (length.isascii() and length.isdigit()):
            raise RefusedError(400, "Content-Length must be a number")
        if length is not None:
            self._check(int(length[:18]))
        try:
            async with asyncio.timeout(self._limits.seconds):
                return b"".join([part async for part in self._parts(receive)])
        except TimeoutError:
            raise RefusedError(408, "the body took too long; send it faster") from None

    async def _parts(self, receive: Receive) -> AsyncIterator[bytes]:
        message: Message = {"more_body": True}
        while message.get("more_body"):
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RefusedError(400, "the client went away")
            part: bytes = message.get("body", b"")
            self.size += len(part)
            self._check(self.size)
            if self.size > ALWAYS_TAKEN:
                self._guard.buffer(self.size - self._reserved)
                self._reserved = self.size
            yield part

    def release(self) -> None:
        """Give the room of the body back."""
        self._guard.buffer(-self._reserved)
        self._reserved = 0

    def _check(self, size: int) -> None:
        upload = self._path == UPLOAD
        most = self._limits.body if upload else self._limits.json
        if size > most:
            cure = "send less at a time" if upload else "send less, or use /upload"
            raise RefusedError(413, f"the body must have at most {most:,} bytes; {cure}")


async def _answer(app: ASGIApp, scope: Scope, body: bytes) -> Response:
    """The whole answer of an application to a request whose body has been read."""
    response, parts = Response(), list[bytes]()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            response.status_code, response.raw_headers = message["status"], message["headers"]
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    response.body = b"".join(parts)
    return response


async def _unless_gone(receive: Receive, work: Awaitable[Result]) -> Result | None:
    """The result of some work, which is cancelled when the client goes away."""

    async def disconnect() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(disconnect())
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        gone.cancel()
        working.cancel()


def refusal(refused: RefusedError) -> Response:
    """An error as the server answers it."""
    reason = refused.reason.encode("utf-8", "replace").decode()
    headers = {}
    if refused.status == 401:
        headers["www-authenticate"] = "Bearer"
    if refused.status in (429, 503):
        headers["retry-after"] = "1"
    if refused.status in (400, 408, 413, 429, 503):  # more of the body may still come
        headers["connection"] = "close"
    return JSONResponse({"error": reason}, refused.status, headers)
