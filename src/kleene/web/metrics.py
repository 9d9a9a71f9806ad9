"""Metrics for Prometheus."""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Variable that names the folder in which the processes of a server share their metrics."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one process, and the text that all processes of the server share."""

    def __init__(self) -> None:
        own = self._own = CollectorRegistry()
        self.requests = Counter(
            "kleene_requests", "Requests by route and status.", ("route", "status"), registry=own
        )
        self.seconds = Histogram(
            "kleene_request_seconds", "Seconds to the answer.", ("route",), registry=own
        )
        self.dropped = Counter(
            "kleene_connections_dropped", "Connections closed unanswered.", ("why",), registry=own
        )
        self.symbols = Counter("kleene_symbols", "Symbols that models have read.", registry=own)
        self.abandoned = Counter("kleene_abandoned", "Requests of clients gone.", registry=own)
        self.in_progress, self.waiting, self.buffered = (
            Gauge(name, about, registry=own, multiprocess_mode="livesum")
            for name, about in (
                ("kleene_requests_in_progress", "Requests being answered."),
                ("kleene_requests_waiting", "Large requests that wait."),
                ("kleene_buffered_bytes", "Bytes of large bodies in memory."),
            )
        )

    def text(self) -> bytes:
        """All metrics of the server, in the text format."""
        if FOLDER not in os.environ:
            return generate_latest(self._own)
        for path in Path(os.environ[FOLDER]).glob("gauge_livesum_*.db"):
            process = path.stem.rpartition("_")[2]
            if not Path(f"/proc/{process}").exists() and Path("/proc/self").exists():
                mark_process_dead(process)  # type: ignore[no-untyped-call]
        shared = CollectorRegistry()
        MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        return generate_latest(shared)
