"""Requests and answers on the line between a server and its background process."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Iterable
from typing import Any

FRAME = struct.Struct("!QIQ")  # number of the request, bytes of its head, bytes of its body


def to_frame(number: int, head: dict[str, Any], body: bytes) -> bytes:
    """The bytes of a request or an answer; one without head or body says that it is not needed."""
    encoded = json.dumps(head).encode()
    return b"".join((FRAME.pack(number, len(encoded), len(body)), encoded, body))


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, dict[str, Any], bytes]:
    """The next number, head and body."""
    number, head, body = FRAME.unpack(await reader.readexactly(FRAME.size))
    return number, json.loads(await reader.readexactly(head)), await reader.readexactly(body)


def as_text(headers: Iterable[tuple[bytes, bytes]]) -> list[list[str]]:
    """Headers as JSON can hold them."""
    return [[part.decode("latin-1") for part in header] for header in headers]


def as_bytes(headers: Iterable[Iterable[str]]) -> list[tuple[bytes, bytes]]:
    """Headers as HTTP has them."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
