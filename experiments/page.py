"""What the scripts that write tables share: results in, Markdown out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def load(name: str) -> list[dict[str, Any]]:
    """The finished runs of an experiment."""
    file = ROOT / "experiments" / "results" / f"{name}.json"
    return list(json.loads(file.read_text())["rows"]) if file.exists() else []


def measured(rows: Iterable[dict[str, Any]]) -> str:
    """The day on which the last of these runs finished."""
    return max(str(row["finished"]) for row in rows)[:10]


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
