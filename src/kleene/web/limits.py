"""How much one request may ask for, and the refusal of anything larger."""

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
    """Symbols of all words of a request, except for uploads."""
    lines: int = 50_000
    """Words of an uploaded file."""
    seconds: float = 30.0
    """Time for the answer; a body must arrive within the same time."""
    upload_seconds: float = 120.0
    """Time for the answer to an upload."""
    header_seconds: float = 10.0
    """Time for the head of a request."""
    waiting: int = 128
    """Large requests that wait for their thread."""
    buffered: int = 64 * 2**20
    """Bytes of large bodies held at a time."""
    connections: int = 512


class RefusedError(Exception):
    """A request that gets an error status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason
