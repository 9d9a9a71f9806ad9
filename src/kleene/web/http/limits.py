"""How much one request and one client may ask for, and the refusal of what exceeds it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on requests, on the work that waits, and on connections."""

    body: int = 8 * 2**20
    """Bytes of an uploaded file."""
    json: int = 2 * 2**20
    """Bytes of any other body."""
    words: int = 1_000
    length: int = 20_000
    """Symbols of one word."""
    symbols: int = 200_000
    """Symbols of all words of a request, uploads excepted."""
    lines: int = 50_000
    """Words of an uploaded file."""
    seconds: float = 30.0
    """For the answer; a body must arrive within the same time."""
    upload_seconds: float = 120.0
    """For the answer to an upload."""
    header_seconds: float = 10.0
    """For the head of a request, from its first byte on."""
    waiting: int = 128
    """Requests whose work waits; one more gets 429."""
    waiting_symbols: int = 4_000_000
    """Symbols of the work that waits."""
    buffered: int = 64 * 2**20
    """Bytes of large bodies held at a time."""
    connections: int = 512
    connections_per_client: int = 256
    """Of one address. A proxy is one client: raise it there."""


class RefusedError(Exception):
    """A request that is answered with an error status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason
