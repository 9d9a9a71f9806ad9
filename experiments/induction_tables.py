"""Tables of induction, from results/induction.json."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import mean, median
from typing import Any

from own_languages import FRESH, TESTS
from page import load, markdown

Run = dict[str, Any]


def runs(part: str, **key: Any) -> list[Run]:
    """Finished runs of a part whose key has these entries."""
    wanted = {"part": part, **key}
    return [row for row in load("induction") if wanted.items() <= row["key"].items()]


def missing(part: str) -> str:
    """What stands in the place of a table that has no results yet."""
    return f"_No results yet: `python experiments/induction.py {part}`._"


def random_automata() -> str:
    """Random automata: exact, accuracy and CPU seconds, a column for each method."""
    found = runs("random")
    if not found:
        return missing("random")
    names = ("states", "symbols", "rows")
    sizes = sorted({tuple(row["key"][name] for name in names) for row in found})
    lines = []
    for size in sizes:
        key = dict(zip(names, size, strict=True))
        methods = [_outcome(runs("random", method=m, **key)) for m in ("kleene", "edsm", "rpni")]
        lines.append([*(f"{number:,}" for number in size), *methods])
    return markdown([*names, "Kleene", "EDSM", "RPNI"], lines)


def noise() -> str:
    """Ten states, flipped labels: exact, states and accuracy."""
    found = runs("noise")
    if not found:
        return missing("noise")
    lines = []
    for share in sorted({row["key"]["noise"] for row in found}):
        methods = [_outcome(runs("noise", noise=share, method=m)) for m in ("kleene", "edsm")]
        lines.append([f"{share:.0%}", *methods])
    return markdown(["flipped labels", "Kleene", "EDSM"], lines)


def logs() -> str:
    """Log sessions: induction alone, a whole fit and n-grams, a line for each seed."""
    found = runs("logs")
    if not found:
        return missing("logs")
    lines = [
        [
            row["key"]["run"],
            str(row["key"]["seed"]),
            str(row["result"].get("states", "")),
            f"{row['result']['accuracy']:.2%}",
            f"{row['cpu_seconds']:.1f} s",
        ]
        for row in sorted(found, key=lambda row: (row["key"]["run"], row["key"]["seed"]))
    ]
    return markdown(["run", "seed", "states", "accuracy on new sessions", "CPU time"], lines)


def cost(part: str) -> str:
    """CPU seconds against the number of rows, symbols or states."""
    found = runs(part)
    if not found:
        return missing(part)
    name = {"rows": "rows", "alphabet": "symbols", "states": "states"}[part]
    lines = [
        [
            f"{row['key'][name]:,}",
            f"{row['result']['search_seconds']:.1f} s",
            f"{row['cpu_seconds']:.1f} s",
            "yes" if row["result"]["exact"] else "no",
            f"{row['result']['accuracy']:.1%}",
        ]
        for row in sorted(found, key=lambda row: row["key"][name])
    ]
    header = [name, "search", "with reading the rows", "exact", "accuracy on new words"]
    return markdown(header, lines)


def own_languages() -> str:
    """Made-up languages that nothing was tuned on: `fit` beside a plain GRU."""
    lines = []
    for width in (4, 16, 64):
        for method in ("fit", "gru"):
            rows = fresh_languages(width, method)
            if rows:
                lines.append([str(width), *_own_languages_line(method, rows)])
    if not lines:
        return "_No results yet: `python experiments/own_languages.py --methods fit,gru`._"
    header = ["symbols", "method", "held-out rows", *TESTS, "all four 1.000"]
    return markdown([*header, "CPU time, median", "at most"], lines)


def fresh_languages(width: int, method: str) -> list[Run]:
    """The runs of one method on the languages over so many symbols that nothing was tuned on."""
    key = {"symbols": width, "method": method, "seed": FRESH}
    return [row for row in load("own_languages") if key.items() <= row["key"].items()]


ABLATED = {
    "merging": ("state merging", "automata that short sequences determine", True),
    "patterns": ("patterns", "long sequences, a few tests", True),
    "likelihood": ("the likeliest of the tests that agree", "rows drawn class by class", True),
    "variation": ("variation of tests", "long factors and subsequences", True),
    "tiers": ("tiers", "tests that skip symbols", True),
    "thresholds": ("thresholds", "a factor at least t times", True),
    "subsequences": ("subsequences", "piecewise testable languages", True),
    "factors in order": ("factors in order", "factors with gaps between them", True),
    "counts without overlap": ("counts without overlap", "occurrences that share no symbol", True),
    "repetitions": ("repetitions", "factors that overlap themselves", True),
    "counters": ("modular sums", "counts modulo a number", True),
    "weighted counters": ("weights by elimination", "modular sums over wide alphabets", True),
    "restarts": ("restarts", "rows that no candidate explains", True),
    "splits": ("growing by splits", "long sequences without short ones", False),
    "rule lists": ("rule lists", "many tests that decide alone", False),
    "expectation": ("expectation maximisation", "wide alphabets, short sequences", False),
    "merging: noise": ("merging with assumed noise", "wrong labels", False),
    "joint tiers": ("joint changes of a tier", "tiers over wide alphabets", False),
    "equivalents": ("equal tests of another kind", "repeated symbols", False),
    "as repetition": ("factors in order as one repeated", "repeated factors", False),
}
"""Parts of the search: what they are, the languages they are for, and whether they stayed."""


def ablation() -> str:
    """Each part of the search removed, on the languages where it could matter."""
    found = {(row["key"]["part"], row["key"]["task"]): row["result"] for row in load("ablation")}
    lines = []
    for part, (name, purpose, kept) in ABLATED.items():
        names = [task for one, task in found if one == part and ("all", task) in found]
        if names:
            lines.append([name, purpose, str(len(names))])
            for whole in ("all", part):
                results = [found[whole, task] for task in names]
                perfect = sum(min(result["tests"]) == 1 for result in results)
                accuracy = mean(mean(result["tests"]) for result in results)
                cpu = mean(result["cpu"] for result in results)
                lines[-1].append(f"{perfect} perfect, {accuracy:.1%}, {cpu:.1f} s")
            lines[-1].append("kept" if kept else "deleted")
    return markdown(["part", "for", "languages", "with it", "without it", ""], lines)


def event_tables() -> str:
    """`kleene train --stream` on event tables."""
    found = load("event_table")
    if not found:
        return "_No results yet: `python experiments/event_table.py`._"
    lines = [
        [
            f"{row['key']['rows']:,}",
            f"{row['result']['cases']:,}",
            f"{row['result']['megabytes']:.0f} MB",
            f"{row['result']['train_cpu_seconds']:.0f} s",
            f"{row['result']['peak_megabytes']:,} MB",
            str(row["result"]["states"]),
            f"{row['result']['held_out_accuracy']:.2%}",
        ]
        for row in sorted(found, key=lambda row: int(row["key"]["rows"]))
    ]
    header = ["rows", "cases", "file", "CPU time", "peak memory", "states", "held-out accuracy"]
    return markdown(header, lines)


def _own_languages_line(method: str, rows: list[Run]) -> list[str]:
    """Means over the languages of one method."""
    results = [row["result"] for row in rows]
    tests = [f"{mean(one[test] for one in results):.3f}" for test in TESTS]
    perfect = sum(all(one[test] == 1 for test in TESTS) for one in results)
    held_out = mean(one["held_out"] for one in results)
    seconds = [one["learning_seconds"] for one in results]
    figures = [f"{held_out:.3f}", *tests, f"{perfect} of {len(rows)}"]
    times = [f"{median(seconds):.0f} s", f"{max(seconds):.0f} s"]
    return ["Kleene" if method == "fit" else "plain GRU", *figures, *times]


def _outcome(found: list[Run]) -> str:
    """How many runs are exact, their mean accuracy and CPU seconds."""
    if not found:
        return "-"
    results = [row["result"] for row in found]
    exact = f"{sum(result['exact'] for result in results)} of {len(results)}"
    shares = [result["accuracy"] for result in results if result["accuracy"] is not None]
    accuracy = f", {mean(shares):.1%}" if shares else ", no result in time"
    return f"{exact}{accuracy}, {mean(result['search_seconds'] for result in results):.1f} s"


INDUCTION: dict[str, Callable[[], str]] = {
    "induction-random": random_automata,
    "induction-noise": noise,
    "induction-logs": logs,
    "induction-rows": partial(cost, "rows"),
    "induction-alphabet": partial(cost, "alphabet"),
    "induction-states": partial(cost, "states"),
    "own-languages": own_languages,
    "event-tables": event_tables,
    "ablation": ablation,
}
