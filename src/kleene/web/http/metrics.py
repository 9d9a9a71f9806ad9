"""Counters of a server, in the text format of Prometheus.

The numbers live in one flat array, so that several worker processes can share it: each writes a
row of its own, and whoever is asked adds the rows up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import MutableSequence, Sequence
from itertools import product

ROUTES = (
    *("/predict", "/explain", "/compare", "/difference", "/upload"),
    *("/automaton", "/extract", "/models", "/health", "/ready", "/metrics", "/", "other"),
)
STATUSES = (200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 499, 500, 503)
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
REASONS = ("slow head", "displaced", "no room")

PLAIN: Sequence[tuple[str, str, str, str]] = (
    ("kleene_symbols_total", "counter", "symbols", "Symbols that models have read."),
    ("kleene_passes_total", "counter", "passes", "Batches that models have read."),
    ("kleene_abandoned_total", "counter", "abandoned", "Requests whose client went away."),
    ("kleene_requests_in_progress", "gauge", "in progress", "Requests being answered."),
    ("kleene_requests_waiting", "gauge", "waiting", "Requests whose work waits."),
    ("kleene_buffered_bytes", "gauge", "buffered", "Bytes of large bodies in memory."),
)

Key = tuple[str, ...]


def _slots() -> dict[Key, int]:
    """The place of every number in a row."""
    keys: list[Key] = [("request", route, str(s)) for route, s in product(ROUTES, STATUSES)]
    for route in ROUTES:
        keys += [("bucket", route, str(i)) for i in range(len(BUCKETS) + 1)]
        keys.append(("seconds", route))
    keys += [("dropped", reason) for reason in REASONS]
    keys += [(key,) for _, _, key, _ in PLAIN]
    return {key: i for i, key in enumerate(keys)}


SLOTS = _slots()


class Metrics:
    """What one process counts, beside the rows of other processes."""

    def __init__(self, values: MutableSequence[float] | None = None, row: int = 0) -> None:
        self.values: MutableSequence[float] = [0.0] * len(SLOTS) if values is None else values
        self._start = row * len(SLOTS)

    @staticmethod
    def size(rows: int) -> int:
        """Numbers that the rows of so many processes need."""
        return rows * len(SLOTS)

    def add(self, *key: str, amount: float = 1.0) -> None:
        """Count."""
        self.values[self._start + SLOTS[key]] += amount

    def set(self, *key: str, value: float) -> None:
        """Note the present value of something."""
        self.values[self._start + SLOTS[key]] = value

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        route = route if route in ROUTES else "other"
        self.add("request", route, str(status if status in STATUSES else 500))
        self.add("bucket", route, str(bisect_left(BUCKETS, seconds)))
        self.add("seconds", route, amount=seconds)

    def dropped(self, reason: str) -> None:
        """Count a connection that was closed without an answer."""
        self.add("dropped", reason)

    def total(self, *key: str) -> float:
        """A number, added up over all processes."""
        place = SLOTS[key]
        return sum(self.values[place :: len(SLOTS)])

    def text(self, version: str) -> str:
        """All numbers as Prometheus reads them."""
        lines = _header("kleene_info", "gauge", "The version of Kleene.")
        lines.append(f'kleene_info{{version="{version}"}} 1')
        lines += _header("kleene_requests_total", "counter", "Requests by route and status.")
        for route, status in product(ROUTES, STATUSES):
            if count := self.total("request", route, str(status)):
                labels = f'route="{route}",status="{status}"'
                lines.append(f"kleene_requests_total{{{labels}}} {count:g}")
        lines += _header("kleene_request_seconds", "histogram", "Seconds from request to answer.")
        for route in ROUTES:
            lines += self._histogram(route)
        lines += _header(
            "kleene_connections_dropped_total", "counter", "Connections closed without an answer."
        )
        for reason in REASONS:
            count = self.total("dropped", reason)
            lines.append(f'kleene_connections_dropped_total{{reason="{reason}"}} {count:g}')
        for name, kind, key, about in PLAIN:
            lines += [*_header(name, kind, about), f"{name} {self.total(key):g}"]
        return "\n".join(lines) + "\n"

    def _histogram(self, route: str) -> list[str]:
        counts = [self.total("bucket", route, str(i)) for i in range(len(BUCKETS) + 1)]
        if not any(counts):
            return []
        name, lines, below = "kleene_request_seconds", [], 0.0
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
            below += count
            lines.append(f'{name}_bucket{{route="{route}",le="{bound}"}} {below:g}')
        lines.append(f'{name}_sum{{route="{route}"}} {self.total("seconds", route):g}')
        lines.append(f'{name}_count{{route="{route}"}} {below:g}')
        return lines


def _header(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
