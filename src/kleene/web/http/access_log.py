"""One line a request on standard error, as text or as JSON; never a token, a query or a body."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import dataclass
from datetime import UTC, datetime

LOGGER = logging.getLogger("kleene.access")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An answered request."""

    client: str
    method: str
    path: str
    status: int
    milliseconds: float
    received: int
    """Bytes of the body."""

    @property
    def level(self) -> int:
        """Failures of the server are errors, refusals are warnings only where they are many."""
        return logging.ERROR if self.status >= 500 else logging.INFO

    def text(self) -> str:
        """For people; whatever would steer a terminal is escaped."""
        path = json.dumps(self.path[:200])
        took = f"{self.status} {self.milliseconds:.1f} ms {self.received} bytes"
        return f"{self.client} {self.method[:20]} {path} {took}"

    def fields(self) -> dict[str, str | int | float]:
        """For programs."""
        return {
            "client": self.client,
            "method": self.method[:20],
            "path": self.path[:200],
            "status": self.status,
            "milliseconds": round(self.milliseconds, 3),
            "received": self.received,
        }


def log_access(entry: Entry) -> None:
    """Write the line, if the level asks for it."""
    if LOGGER.isEnabledFor(entry.level):
        LOGGER.log(entry.level, "%s", entry.text(), extra={"fields": entry.fields()})


def set_up_logs(level: str, *, as_json: bool) -> None:
    """Send what the server logs to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if as_json else logging.Formatter(_TEXT))
    for name in ("kleene", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
    if level.upper() != "DEBUG":  # malformed requests are the senders' matter
        logging.getLogger("uvicorn.error").setLevel("ERROR")


_TEXT = "%(asctime)s %(levelname)s %(message)s"


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
