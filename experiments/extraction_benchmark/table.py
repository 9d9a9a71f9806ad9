"""The table of docs/results/extraction.md, and its picture.

Run: python experiments/extraction_benchmark/table.py, which draws docs/img/extraction.png
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from page import ROOT, Rows, load, markdown

from kleene.evaluation.metrics import wilson_interval

SOURCE, OURS = "extraction_benchmark", "Kleene"
FAMILIES = {
    "tomita": "Tomita",
    "random": "random automata",
    "classes": "classes of MLRegTest",
    "counting": "counting",
}
TESTS = ("like training", "random", "long", "adversarial")
COLORS = ("#0072b2", "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#cc79a7", "#999999", "#000000")


def table() -> str:
    """Pooled errors against the network with their intervals, and what extraction costs."""
    rows, lines = load(SOURCE), []
    if not rows:
        return "_No results yet: `experiments/extraction_benchmark/run.py`._"
    for family, title in FAMILIES.items():
        for name, results in _by_extractor(rows, family).items():
            perfect = sum(all(one["errors"][t][0] == 0 for t in TESTS) for one in results)
            lines.append([
                title, name, f"{len(results)}", *(_error(results, test) for test in TESTS),
                f"{_share(results, 'like training', 1):.1%}", f"{perfect}",
                *(f"{median(one[key] for one in results):,.{digits}f}"
                  for key, digits in (("states", 0), ("queries", 0), ("seconds", 1))),
                _lost(rows, family) if name == OURS else "",
            ])  # fmt: skip
    header = [
        "networks trained on", "extractor", "networks", *TESTS, "error against the language",
        "no error", "states", "queries", "CPU s", "Kleene loses",
    ]  # fmt: skip
    commits = sorted({row["result"]["commit"] for row in rows})
    settings = rows[0]["recipe"]
    note = (
        f"{len(rows)} networks; at most {settings['seconds']:g} CPU-s and {settings['queries']:,} "
        f"queries for each extraction; commit and date: {'; '.join(commits)}."
    )
    return f"{markdown(header, lines)}\n\n{note}"


def _by_extractor(rows: Rows, family: str) -> dict[str, list[dict[str, Any]]]:
    """The results of each extractor on the networks that it can read."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        for name, one in row["result"]["extractors"].items():
            if row["result"]["family"] == family and one is not None:
                found.setdefault(name, []).append(one)
    return found


def _share(results: list[dict[str, Any]], test: str, against: int = 0) -> float:
    words = sum(one["errors"][test][2] for one in results)
    return sum(one["errors"][test][against] for one in results) / max(words, 1)


def _error(results: list[dict[str, Any]], test: str) -> str:
    wrong = sum(one["errors"][test][0] for one in results)
    words = sum(one["errors"][test][2] for one in results)
    low, high = wilson_interval(wrong, words) if words else (0.0, 1.0)
    return f"{wrong / max(words, 1):.1%} ({low:.1%} to {high:.1%})"


def _lost(rows: Rows, family: str) -> str:
    """For each test, the best extractor with fewer errors than ours on the networks of both."""
    lost = []
    for test in TESTS:
        ahead = []
        for name in _by_extractor(rows, family):
            both = [(one[name], one[OURS]) for row in rows if row["result"]["family"] == family
                    if (one := row["result"]["extractors"])[name] is not None]  # fmt: skip
            theirs, ours = (_share([pair[i] for pair in both], test) for i in (0, 1))
            if theirs < ours:
                ahead.append((theirs - ours, f"{test}: {name} {theirs:.1%}, Kleene {ours:.1%}"))
        lost += [text for _, text in sorted(ahead)[:1]]
    return "; ".join(lost) or "on none"


def draw() -> Path:
    """Error against states and against queries, a row of panels each, a panel per family."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    rows = load(SOURCE)
    figure, axes = pyplot.subplots(2, len(FAMILIES), figsize=(13, 6), sharey=True)
    for panels, cost in zip(axes, ("states", "queries"), strict=True):
        for panel, (family, title) in zip(panels, FAMILIES.items(), strict=True):
            for color, (name, results) in zip(
                COLORS, _by_extractor(rows, family).items(), strict=False
            ):
                errors = [100 * _share([one], "like training") + 0.05 for one in results]
                costs = [one[cost] for one in results]
                panel.scatter(costs, errors, s=9, color=color, alpha=0.35, linewidths=0)
                panel.scatter([median(costs)], [sum(errors) / len(errors)], s=90, color=color,
                              marker="D", edgecolors="white", label=name)  # fmt: skip
            panel.set(xscale="log", yscale="log", xlabel=cost, title=title)
        panels[0].set_ylabel("error against the network, %")
    handles = axes[0][0].get_legend_handles_labels()
    figure.legend(*handles, ncols=8, loc="lower center", frameon=False)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    path = ROOT / "docs" / "img" / "extraction.png"
    figure.savefig(path, dpi=110)
    return path


if __name__ == "__main__":
    print(draw())
