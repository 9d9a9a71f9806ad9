"""Results on disk: one JSON file per experiment, one row per finished run, never run twice."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kleene.errors import DataError
from kleene.files import read_regular, write_atomically

Row = dict[str, Any]
"""The key of a run, its result, when it finished and how long it took."""


class Ledger:
    """Rows of finished runs, each found again by its key."""

    def __init__(self, name: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{name}.json"
        self.rows: list[Row] = []
        if self.path.exists():
            self.rows = _read(self.path)

    def find(self, **key: Any) -> Row | None:
        """The row of a finished run."""
        for row in self.rows:
            if row["key"] == key:
                return row
        return None

    def is_stale(self, recipe: Any, **key: Any) -> bool:
        """Whether the run was finished with other settings than `recipe`, or with unknown ones.

        Rows that were written before settings were recorded have unknown ones. A setting that is
        off is like one that did not exist yet.
        """
        found = self.find(**key)
        return found is not None and _switched_on(found.get("recipe")) != _switched_on(recipe)

    def run(self, work: Callable[[], dict[str, Any]], *, recipe: Any = None, **key: Any) -> Row:
        """The row of this key: from the file, or from doing the work now.

        `recipe` are the settings of the work as plain values; a row of other settings is replaced.
        """
        found = self.find(**key)
        if found is not None and not self.is_stale(recipe, **key):
            return found
        cpu, wall = time.process_time(), time.time()
        result = work()
        row = {
            "key": key,
            "recipe": recipe,
            "result": result,
            "cpu_seconds": round(time.process_time() - cpu, 2),
            "wall_seconds": round(time.time() - wall, 2),
            "finished": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        others = _read(self.path) if self.path.exists() else []  # another process may have written
        self.rows = [other for other in others if other["key"] != key] + [row]
        self.save()
        return row

    def save(self) -> None:
        """Write all rows at once."""
        document = {"machine": machine(), "rows": self.rows}
        write_atomically(self.path, json.dumps(document, indent=1))


def _switched_on(settings: Any) -> Any:
    """Settings without those that are None or False."""
    if isinstance(settings, dict):
        kept = {name: _switched_on(value) for name, value in settings.items()}
        return {name: one for name, one in kept.items() if one is not None and one is not False}
    if isinstance(settings, list):
        return [_switched_on(value) for value in settings]
    return settings


def _read(path: Path) -> list[Row]:
    try:
        rows: list[Row] = json.loads(read_regular(path))["rows"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} holds no results ({error}); move it away to start again") from None
    return rows


def machine() -> dict[str, Any]:
    """Facts about this machine that figures depend on."""
    import torch

    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "processor": platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
    }
