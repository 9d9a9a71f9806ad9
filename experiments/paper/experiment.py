"""What an experiment is: rows of a table of the paper, and the runs that fill them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from kleene.errors import SettingError
from kleene.training.progress import Reporter
from paper.ledger import Row

SCALES = ("small", "paper")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked for: which runs, from which data, and where trained models go."""

    scale: str = "small"
    rows: Sequence[str] = ()
    """Rows of the table; none asks for all."""
    seeds: int | None = None
    """Runs of each row; None leaves it to the experiment."""
    first: int = 0
    """The first seed."""
    data: str | Path | None = None
    models: Path = Path("models")
    reporter: Reporter = field(default_factory=Reporter)
    recipe: Any = None
    """The settings of the present run as plain values."""

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise SettingError(f"scale must be one of {', '.join(SCALES)}, got {self.scale!r}")

    def folder(self, experiment: str, row: str, seed: int) -> Path:
        """Where the model of a run goes, and its checkpoint while it trains."""
        name = f"{row}-{seed}".replace(" ", "-")
        return self.models / experiment / self.scale / name

    @property
    def checkpoint(self) -> str:
        """The name of a run's checkpoint; checkpoints are never reused across settings."""
        settings = json.dumps(self.recipe, sort_keys=True)
        return f"checkpoint-{hashlib.sha256(settings.encode()).hexdigest()[:8]}.safetensors"


class Table(NamedTuple):
    """Paper and ours side by side, as text."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Run:
    """One row of a ledger, found there or done now."""

    name: str
    key: dict[str, Any]
    recipe: Any
    work: Callable[[], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Rows, what one run of a row does, and the table of what was found."""

    ledger: str
    """The name of its file of results."""
    rows: Sequence[str]
    seeds: Callable[[str, str], int]
    """How many runs a row has at a scale, where the request does not say."""
    key: Callable[[str, int, str], dict[str, Any]]
    """By which a run is found again, from row, seed and scale."""
    recipe: Callable[[str, str], Any]
    """The settings of a row at a scale; a finished run with others is run again."""
    work: Callable[[str, int, Request], dict[str, Any]]
    headline: Callable[[dict[str, Any]], str]
    """A result in a few words."""
    table: Callable[[Sequence[Row]], Table]

    def runs(self, request: Request) -> Iterator[Run]:
        """Every row once, then every row with its second seed, and so on."""
        rows = request.rows or self.rows
        if unknown := [row for row in rows if row not in self.rows]:
            raise SettingError(f"rows must be among {', '.join(self.rows)}, got {unknown}")
        wanted = {row: request.seeds or self.seeds(row, request.scale) for row in rows}
        for i in range(max(wanted.values())):
            for row in rows:
                if i < wanted[row]:
                    yield self._run(row, request.first + i, request)

    def _run(self, row: str, seed: int, request: Request) -> Run:
        recipe = plain(self.recipe(row, request.scale))
        request = replace(request, recipe=recipe)
        return Run(
            name=f"{row}, seed {seed}",
            key=self.key(row, seed, request.scale),
            recipe=recipe,
            work=lambda: self.work(row, seed, request),
        )


def plain(settings: Any) -> Any:
    """Settings as JSON keeps them; functions by their names."""
    if is_dataclass(settings) and not isinstance(settings, type):
        return plain({field.name: getattr(settings, field.name) for field in fields(settings)})
    if isinstance(settings, Mapping):
        return {str(name): plain(value) for name, value in settings.items()}
    if isinstance(settings, list | tuple | range):
        return [plain(value) for value in settings]
    if callable(settings):
        return getattr(settings, "__qualname__", type(settings).__name__)
    return settings


def middle(values: Sequence[float], digits: int) -> str:
    """The median, with the least and the greatest where they differ."""
    if not values:
        return ""
    text = f"{median(values):.{digits}f}"
    if len(set(values)) == 1:
        return text
    return f"{text} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def chosen(rows: Sequence[Row], **key: Any) -> list[Row]:
    """The rows whose keys hold all of these."""
    return [row for row in rows if key.items() <= row["key"].items()]
