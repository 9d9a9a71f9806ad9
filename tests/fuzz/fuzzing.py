"""Feeding malformed inputs to a reader, and what came of it."""

from __future__ import annotations

import random
import resource
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from readers import Reader

from kleene.errors import KleeneError

SLOW = 1.0  # seconds of work in which any input of a few kilobytes must be dealt with
HANGS = 60.0  # seconds on the clock, which a busy machine may take
LONGEST_MESSAGE = 1000  # characters


@dataclass(kw_only=True)
class Outcome:
    """A tally of inputs; an empty list of faults is what is wanted."""

    reader: str
    inputs: int = 0
    rejected: int = 0
    accepted: int = 0
    slowest_ms: float = 0.0
    memory_growth_mb: float = 0.0
    faults: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def fuzz(reader: Reader, count: int, seed: int = 0, keep: Path | None = None) -> Outcome:
    """Give a reader so many malformed inputs; those that do harm are kept in a folder."""
    dice, outcome = random.Random(f"{reader.name} {seed}"), Outcome(reader=reader.name)
    for content in reader.seeds:
        attempt(reader, content, outcome)  # which also imports and compiles what it needs
    outcome = Outcome(reader=reader.name)
    before = _peak()
    while outcome.inputs < count and len(outcome.faults) < 30:
        content = reader.spoil(dice)
        known = len(outcome.faults)
        attempt(reader, content, outcome)
        if keep is not None and len(outcome.faults) > known:
            keep.mkdir(parents=True, exist_ok=True)
            name = "".join(c if c.isalnum() else "-" for c in reader.name)
            (keep / f"{name}-{outcome.inputs}").write_bytes(content)
    outcome.memory_growth_mb = round((_peak() - before) / 1024, 1)
    return outcome


def attempt(reader: Reader, content: bytes, outcome: Outcome) -> None:
    """Read one input; only success and a short KleeneError are right."""
    began, started = time.process_time(), time.monotonic()
    outcome.inputs += 1
    try:
        reader.read(content)
        outcome.accepted += 1
    except KleeneError as error:
        outcome.rejected += 1
        if len(str(error)) > LONGEST_MESSAGE or not str(error):
            _blame(outcome, content, f"a message of {len(str(error))} characters: {error}"[:200])
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        _blame(outcome, content, f"{type(error).__name__} at {place}: {error}"[:200])
    took, waited = time.process_time() - began, time.monotonic() - started
    outcome.slowest_ms = max(outcome.slowest_ms, round(1000 * took, 1))
    if took > SLOW or waited > HANGS:
        _blame(outcome, content, f"took {took:.1f} s of work, {waited:.1f} s in all")


def _blame(outcome: Outcome, content: bytes, what: str) -> None:
    outcome.faults.append(f"{what} <- {content[:80]!r}")


def _peak() -> int:
    """The most memory this process has held, in kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
