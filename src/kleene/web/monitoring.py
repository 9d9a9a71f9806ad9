"""Metrics for Prometheus, and the access log; neither holds a token, a query or a body."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from kleene.errors import extra

with extra("web"):
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from kleene import __version__

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Variable that names the folder in which the processes of a server share their metrics."""
ROUTES = frozenset(
    (
        *("/predict", "/explain", "/compare", "/difference", "/upload"),
        *("/automaton", "/extract", "/models", "/health", "/ready", "/metrics", "/"),
    )
)
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
LOGGER = logging.getLogger("kleene.access")


class Metrics:
    """The counters of one process, and the text that all processes of the server share."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self) -> None:
        own = self._own = CollectorRegistry()

        def gauge(name: str, about: str) -> Gauge:
            return Gauge(name, about, registry=own, multiprocess_mode="livesum")

        self.requests = Counter(
            "kleene_requests", "Requests by route and status.", ("route", "status"), registry=own
        )
        self.seconds = Histogram(
            *("kleene_request_seconds", "Seconds from request to answer.", ("route",)),
            buckets=BUCKETS,
            registry=own,
        )
        self.dropped = Counter(
            *("kleene_connections_dropped", "Connections closed without an answer.", ("reason",)),
            registry=own,
        )
        self.symbols = Counter("kleene_symbols", "Symbols that models have read.", registry=own)
        self.abandoned = Counter(
            "kleene_abandoned", "Requests whose client went away.", registry=own
        )
        self.in_progress = gauge("kleene_requests_in_progress", "Requests being answered.")
        self.waiting = gauge("kleene_requests_waiting", "Large requests that wait.")
        self.buffered = gauge("kleene_buffered_bytes", "Bytes of large bodies in memory.")
        info = Gauge(
            *("kleene_info", "The version of Kleene.", ("version",)),
            registry=own,
            multiprocess_mode="max",
        )
        info.labels(__version__).set(1)

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        route = path if path in ROUTES else "other"
        self.requests.labels(route, status).inc()
        self.seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All metrics of the server, in the text format."""
        if FOLDER not in os.environ:
            return generate_latest(self._own)
        _forget_dead_processes(Path(os.environ[FOLDER]))
        shared = CollectorRegistry()
        MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        return generate_latest(shared)


def _forget_dead_processes(folder: Path) -> None:
    """Remove the gauges of processes that have ended; their counters stay."""
    for path in folder.glob("gauge_livesum_*.db"):
        process = path.stem.rpartition("_")[2]
        if not Path(f"/proc/{process}").exists() and Path("/proc/self").exists():
            mark_process_dead(process)  # type: ignore[no-untyped-call]


def log_access(
    client: str, method: str, path: str, status: int, seconds: float, received: int
) -> None:
    """Write one line about an answered request; failures of the server are errors."""
    level = logging.ERROR if status >= 500 else logging.INFO
    if not LOGGER.isEnabledFor(level):
        return
    fields = {
        "client": client,
        "method": method[:20],
        "path": path[:200],
        "status": status,
        "milliseconds": round(1000 * seconds, 3),
        "received": received,
    }
    took = f"{status} {1000 * seconds:.1f} ms {received} bytes"
    text = f"{client} {method[:20]} {json.dumps(path[:200])} {took}"  # escapes control characters
    LOGGER.log(level, "%s", text, extra={"fields": fields})


def set_up_logs(level: str, *, as_json: bool) -> None:
    """Send the server's log to standard error."""
    text = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if as_json else text)
    for name in ("kleene", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
    if level.upper() != "DEBUG":  # a malformed request is the client's fault
        logging.getLogger("uvicorn.error").setLevel("ERROR")


class _JsonLines(logging.Formatter):
    """A record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """The time, the level, and the fields of a request or the message."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        found = {"time": time, "level": record.levelname.lower()}
        found |= getattr(record, "fields", None) or {"message": record.getMessage()}
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)
        return json.dumps(found)
