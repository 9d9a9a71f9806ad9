"""The layer every request passes: access, limits on size and time, metrics."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable
from typing import TypeVar

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kleene.web.access import LOCAL, Access
from kleene.web.background import Background
from kleene.web.limits import Limits, RefusedError
from kleene.web.metrics import Metrics

Result = TypeVar("Result")
LOGGER = logging.getLogger("uvicorn.error")

ALWAYS_TAKEN = 64 * 2**10  # bytes of a body that is read however many others are held
SHORT = 4 * 2**10  # bytes of a body that is answered at once
UPLOAD = "/upload"
GONE = 499  # status in the metrics when the client went away
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
    """An ASGI application that checks requests before a FastAPI application answers them."""

    def __init__(
        self,
        app: FastAPI,
        *,
        limits: Limits | None = None,
        access: Access = LOCAL,
    ) -> None:
        self.app, self.access = app, access
        self.limits, self.metrics = limits or Limits(), Metrics()
        self.background = Background(self.limits.waiting, self.metrics)
        self.buffered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer and count a request."""
        if scope["type"] != "http":
            return
        started, path, status = time.perf_counter(), str(scope["path"]), GONE
        body = _Body(self, path)
        self.metrics.in_progress.inc()
        try:
            response = await self._respond(scope, path, body, receive)
            if response is not None:
                status = response.status_code
                response.headers.update(HEADERS)
                await response(scope, receive, send)
        finally:
            body.release()
            self.metrics.in_progress.dec()
            known = any(getattr(route, "path", None) == path for route in self.app.routes)
            route = path if known else "other"
            self.metrics.requests.labels(route, status).inc()
            self.metrics.seconds.labels(route).observe(time.perf_counter() - started)

    async def _respond(
        self, scope: Scope, path: str, body: _Body, receive: Receive
    ) -> Response | None:
        """The answer, or None if the client went away."""
        try:
            headers = Headers(scope=scope)
            scope["authorized"] = self.access.check(path, headers)
            content = await body.read(headers, receive)
            if path != UPLOAD and len(content) <= SHORT:
                return await _response(self.app, scope, content)
            return await self._in_background(scope, path, content, receive)
        except RefusedError as refused:
            return refusal(refused)
        except Exception:
            LOGGER.exception("a request failed")
            return refusal(RefusedError(500, "internal error; see the server's log"))

    async def _in_background(
        self, scope: Scope, path: str, content: bytes, receive: Receive
    ) -> Response | None:
        def job() -> Response:
            return asyncio.run(_response(self.app, scope, content))

        seconds = self.limits.upload_seconds if path == UPLOAD else self.limits.seconds
        try:
            async with asyncio.timeout(seconds):
                answer = await _unless_gone(receive, self.background.run(job))
        except TimeoutError:
            message = f"no answer within {seconds:g} s; send less, or try again later"
            raise RefusedError(503, message) from None
        if answer is None:
            self.metrics.abandoned.inc()
        return answer


class _Body:
    """The body of one request, read within its limits."""

    def __init__(self, guard: Guard, path: str) -> None:
        limits = guard.limits
        self._guard, self._seconds = guard, limits.seconds
        self._most = limits.body if path == UPLOAD else limits.json
        self._cure = "send less at a time" if path == UPLOAD else "send less, or use /upload"
        self._held = 0

    async def read(self, headers: Headers, receive: Receive) -> bytes:
        """All bytes, or a refusal."""
        length = headers.get("content-length", "")
        if length and "transfer-encoding" in headers:
            raise RefusedError(400, "Content-Length and Transfer-Encoding exclude each other")
        if length.isdecimal():
            self._check(int(length[:18]))
        content, more = bytearray(), True
        try:
            async with asyncio.timeout(self._seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RefusedError(400, "the client went away")
                    content += message.get("body", b"")
                    self._check(len(content))
                    self._hold(len(content) if len(content) > ALWAYS_TAKEN else 0)
                    more = message.get("more_body", False)
        except TimeoutError:
            raise RefusedError(408, "the body took too long; send it faster") from None
        return bytes(content)

    def release(self) -> None:
        """Give the memory of the body back."""
        self._hold(0)

    def _check(self, size: int) -> None:
        if size > self._most:
            message = f"the body must have at most {self._most:,} bytes; {self._cure}"
            raise RefusedError(413, message)

    def _hold(self, size: int) -> None:
        """Count the bytes of a large body; all large bodies together have a limit."""
        guard = self._guard
        if size and guard.buffered + size - self._held > guard.limits.buffered:
            raise RefusedError(429, "too many large requests at a time; try again later")
        guard.buffered += size - self._held
        guard.metrics.buffered.set(guard.buffered)
        self._held = size


async def _response(app: ASGIApp, scope: Scope, body: bytes) -> Response:
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
