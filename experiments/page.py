"""Tables of stored results: rows in, Markdown out.

A `Table` says which file of results it shows, which rows of it, how they are grouped into lines,
and its columns; a column is a function of the rows of a line. Helpers below make such functions
from the path of a figure in a row, such as `result.fit_seconds` or `key.seed`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
LEARNED_BY = "learned by"
ORIGINS = {
    "trained": "gradient",
    "paper": "gradient, the paper's recipe",
    "induced": "search in the rows",
    "ngrams": "n-grams",
    "plain": "gradient, no states",
}
"""The origin of a model, as tables name it."""

Row = dict[str, Any]
Rows = list[Row]
Cell = Callable[[Rows], str]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table of results, grouped into lines."""

    source: str
    """The file in `results`, without its ending."""
    run: str
    """The script that fills the file."""
    lines: Mapping[str, Callable[[Row], Any]]
    """The leading columns: rows with the same values make a line."""
    columns: Mapping[str, Cell]
    keep: Mapping[str, Any] = field(default_factory=dict)
    """What the keys of the rows must contain."""
    only: Callable[[Row], bool] = lambda row: True
    order: Callable[[Row], Any] = lambda row: 0
    learned: Cell | None = None
    """Who learned; None for tables that show no accuracy, error or proof."""
    note: Cell = lambda rows: ""

    def markdown(self) -> str:
        """The table, or a line that says which script fills it."""
        rows = sorted(filter(self.only, chosen(load(self.source), **self.keep)), key=self.order)
        if not rows:
            return f"_No results yet: `{self.run}`._"
        groups: dict[tuple[str, ...], Rows] = {}
        for row in rows:
            groups.setdefault(tuple(str(of(row)) for of in self.lines.values()), []).append(row)
        columns = dict(self.columns)
        if self.learned is not None:
            columns = {LEARNED_BY: self.learned, **columns}
        lines = [[*names, *(cell(kept) for cell in columns.values())]
                 for names, kept in groups.items()]  # fmt: skip
        note = self.note(rows)
        return markdown([*self.lines, *columns], lines) + (f"\n\n{note}" if note else "")


def load(name: str) -> Rows:
    """The finished runs of an experiment."""
    file = ROOT / "experiments" / "results" / f"{name}.json"
    return list(json.loads(file.read_text())["rows"]) if file.exists() else []


def chosen(rows: Iterable[Row], **key: Any) -> Rows:
    """The rows whose keys contain all of these."""
    return [row for row in rows if key.items() <= row["key"].items()]


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def at(path: str) -> Callable[[Row], Any]:
    """The figure at a path of names with dots between them; None if the row has none."""

    def of(row: Row) -> Any:
        value: Any = row
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    return of


def figures(rows: Rows, path: str) -> list[Any]:
    """The figures at a path that are known."""
    return [value for value in map(at(path), rows) if value is not None]


def figure(
    path: str,
    form: str = "{}",
    reduce: Callable[[Iterable[Any]], Any] = median,
    scale: float | None = None,
) -> Cell:
    """One figure of all rows of a line: their median, or another function of them."""

    def cell(rows: Rows) -> str:
        found = figures(rows, path)
        if scale is not None:
            found = [scale * value for value in found]
        return form.format(reduce(found)) if found else ""

    return cell


def first(found: Iterable[Any]) -> Any:
    """The figure of the first row."""
    return next(iter(found))


def share(path: str, goal: Any = True) -> Cell:
    """In how many of the rows a figure is `goal`."""

    def cell(rows: Rows) -> str:
        found = figures(rows, path)
        return f"{sum(value == goal for value in found)} of {len(found)}" if found else ""

    return cell


def share_of(holds: Callable[[Row], bool]) -> Cell:
    """In how many of the rows something holds."""
    return lambda rows: f"{sum(map(holds, rows))} of {len(rows)}" if rows else ""


def spread(path: str, digits: int = 3, unit: str = "") -> Cell:
    """The median, with the least and the greatest where they differ."""
    return lambda rows: between(figures(rows, path), digits, unit)


def between(values: Sequence[float], digits: int = 3, unit: str = "") -> str:
    """The median of some values, with the least and the greatest where they differ."""
    if not values:
        return ""
    middle, least, greatest = (
        f"{value:.{digits}f}" for value in (median(values), min(values), max(values))
    )
    return middle + unit if least == greatest else f"{middle}{unit} ({least} to {greatest})"


def where(cell: Cell, missing: str = "", **key: Any) -> Cell:
    """A column for those rows of the line whose keys contain these."""

    def of(rows: Rows) -> str:
        kept = chosen(rows, **key)
        return cell(kept) if kept else missing

    return of


def joined(*cells: Cell, by: str = ", ") -> Cell:
    """Several figures in one column."""
    return lambda rows: by.join(text for cell in cells if (text := cell(rows)))


def measured(rows: Rows) -> str:
    """The day on which the last of these runs finished."""
    return max(str(row["finished"]) for row in rows)[:10]


def measured_on(rows: Rows) -> str:
    """The same as a sentence."""
    return f"Measured on {measured(rows)}."


def learned_by(default: str = "trained") -> Cell:
    """Who learned: the stored origins of the rows, or what their logs say, or `default`."""

    def cell(rows: Rows) -> str:
        names = [ORIGINS.get(name, name) for name in (origin(row) or default for row in rows)]
        counts = {name: names.count(name) for name in dict.fromkeys(names)}
        if len(counts) == 1:
            return names[0]
        return ", ".join(f"{name} ({count})" for name, count in counts.items())

    return cell


def origin(row: Row) -> str | None:
    """The stored origin of a model, or the origin that its log tells."""
    result = row["result"]
    if stored := row.get("origin") or result.get("origin"):
        return str(stored)
    log = " ".join(map(str, result.get("log") or result.get("fit_log") or []))
    if "-state automaton" in log and "taught the" in log:
        return "induced"
    if "kept the plain cell" in log:
        return "plain"
    if "read as text" in log or "read by its states" in log or _ngrams_teach(row):
        return "ngrams"
    return "trained" if "kept the network with memory" in log else None


def _ngrams_teach(row: Row) -> bool:
    """Whether n-grams gave the states their meaning before, or instead of, training."""
    return "init_ngram_states" in json.dumps(row.get("recipe"))
