"""Connections: a deadline for the head of a request, and room for new ones.

Whoever opens connections and never finishes a request must not keep others out. When there is no
room, the connection that has been without a whole request for longest is closed, of the same
client where that client has too many. Only where every connection has a request in progress is a
new one turned away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from kleene.web.http.limits import Limits
from kleene.web.http.metrics import Metrics


class LimitedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with limits; `limited_protocol` binds the two settings."""

    limits = Limits()
    metrics = Metrics()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self.idle_since = self.loop.time()
        self.served = False
        """Whether it has had an answer before."""

    @property
    def in_progress(self) -> bool:
        """Whether a request has arrived as a whole and is being answered."""
        cycle = self.cycle
        return cycle is not None and not (cycle.response_complete or cycle.more_body)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, if need be in the place of one that does nothing."""
        super().connection_made(transport)
        self._start_deadline()
        others = [other for other in self.connections if other is not self]
        mine = [other for other in others if self._same_client(other)]
        if len(mine) >= self.limits.connections_per_client:
            self._make_room(mine)
        elif len(others) >= self.limits.connections:
            self._make_room(others)

    def data_received(self, data: bytes) -> None:
        """Read; once the head of a request is there, its deadline is met."""
        if self._awaits_head() and self._deadline is None:
            self._start_deadline()
        super().data_received(data)
        if not self._awaits_head():
            self._stop_deadline()

    def on_response_complete(self) -> None:
        """Wait for the next request of the connection."""
        self.served, self.idle_since = True, self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_deadline()
        super().connection_lost(exc)

    def drop(self, reason: str) -> None:
        """Close the connection without an answer."""
        self.metrics.dropped(reason)
        self.connections.discard(self)
        self.transport.abort()

    def _awaits_head(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _same_client(self, other: Any) -> bool:
        return bool(self.client and other.client and self.client[0] == other.client[0])

    def _make_room(self, candidates: Iterable[Any]) -> None:
        free = [other for other in candidates if not other.in_progress]
        if free:
            min(free, key=lambda other: (other.served, other.idle_since)).drop("displaced")
        else:
            self.drop("no room")

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(self.limits.header_seconds, self._too_late)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        self._deadline = None
        if self._awaits_head() and not self.transport.is_closing():
            self.drop("slow head")


def limited_protocol(limits: Limits, metrics: Metrics) -> type[LimitedProtocol]:
    """The protocol class of one server."""
    return type("Limited", (LimitedProtocol,), {"limits": limits, "metrics": metrics})
