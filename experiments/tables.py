"""Write the tables of README.md and docs/reproduction.md, between their markers, from the results.

Run: python experiments/tables.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from statistics import mean

from meaning_tables import MEANING
from page import ROOT, load, markdown
from speed_tables import SPEED
from trust_tables import TRUST

from kleene.files import write_atomically

DOCS = ROOT / "docs"
PAGES = (
    ROOT / "README.md",
    *(DOCS / f"{n}.md" for n in ("reproduction", "speed", "states", "uncertainty")),
)
MARKER = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if stale")
    options = parser.parse_args()
    for path in PAGES:
        before = path.read_text()
        after = MARKER.sub(_filled, before)
        if after != before and options.check:
            sys.exit(f"{path.name} is older than the results; run `make tables`")
        if after != before:
            write_atomically(path, after)


def _filled(found: re.Match[str]) -> str:
    name = found.group(2)
    return f"{found.group(1)}{TABLES[name]()}\n{found.group(3)}"


def tomita() -> str:
    rows = load("tomita")
    if not rows:
        return "_No results yet: `kleene reproduce tomita`._"
    lines = []
    for grammar in sorted({row["key"]["grammar"] for row in rows}):
        runs = [row for row in rows if row["key"]["grammar"] == grammar]
        results = [row["result"] for row in runs]
        lines.append(
            [
                f"Tomita {grammar}",
                _share(result["fresh_accuracy"] == 1 for result in results),
                _share(result["exact"] for result in results),
                _share(result["certified"] for result in results),
                _share(result["control_exact"] for result in results),
                f"{mean(result['fit_seconds'] for result in results):.0f} s",
                f"{max(result['fit_seconds'] for result in results):.0f} s",
            ]
        )
    header = ["language", "100 % on fresh words", "exact automaton", "proved for all words"]
    more = ["control: GRU + k-means", "CPU time of a fit", "at most"]
    return markdown([*header, *more], lines)


def mlregtest() -> str:
    rows = load("mlregtest")
    if not rows:
        return "_No results yet: `python experiments/mlregtest.py`._"
    tests = ["TestSR", "TestSA", "TestLR", "TestLA"]
    lines = []
    for method, name in METHODS.items():
        results = [row["result"] for row in rows if row["key"]["method"] == method]
        if not results:
            continue
        seconds = [row["cpu_seconds"] for row in rows if row["key"]["method"] == method]
        known = [result["exact"] for result in results if result["exact"] is not None]
        lines.append(
            [
                name,
                str(len(results)),
                *(f"{mean(result[test] for result in results):.3f}" for test in tests),
                _share(known) if known else "",
                f"{mean(seconds):.0f} s",
            ]
        )
    return markdown(["method", "languages", *tests, "exact language", "CPU time"], lines)


def scratch() -> str:
    rows = load("scratch")
    if not rows:
        return "_No results yet: `python experiments/scratch.py`._"
    lines = []
    for setting, name in {"paper": "dot product, k = 50", "cosine": "cosine, k = 20"}.items():
        for grammar in range(1, 8):
            key = {"setting": setting, "grammar": grammar}
            results = [r["result"] for r in rows if key.items() <= r["key"].items()]
            if results:
                lines.append(
                    [
                        name,
                        f"Tomita {grammar}",
                        _share(result["accuracy"] >= 0.999 for result in results),
                        *(
                            _share(result[f"{method}_exact"] for result in results)
                            for method in ("counts", "table", "auto")
                        ),
                    ]
                )
    header = ["setting", "language", "learned", "exact by counts", "by table", "by auto"]
    return markdown(header, lines)


def peers() -> str:
    rows = load("peers")
    if not rows:
        return "_No results yet: `python experiments/peers.py`._"
    names = {
        "table": "table",
        "counts": "counts (Algorithm 1)",
        "mean": "mean probability",
        "kmeans": "k-means",
        "lstar": "L*",
        "rpni": "RPNI, from the words",
        "edsm": "EDSM, from the words",
    }
    lines = []
    for method, name in names.items():
        results = [row["result"][method] for row in rows]
        reads = "fidelity" in results[0]
        lines.append(
            [
                name,
                _share(result["exact"] for result in results),
                f"{mean(result['fidelity'] for result in results):.3f}" if reads else "",
                f"{mean(result['states'] for result in results):.1f}",
                f"{mean(result['queries'] for result in results):,.0f}" if reads else "",
                f"{mean(result['cpu_seconds'] for result in results):.1f} s",
            ]
        )
    header = ["way", "exact language", "fidelity", "states before minimising", "words run"]
    return markdown([*header, "CPU time"], lines)


def parentheses() -> str:
    path = ROOT / "docs/parts/parentheses.md"
    return path.read_text().strip() if path.exists() else "_No results yet._"


METHODS = {
    "kleene": "Kleene's automaton",
    "gru": "plain GRU",
    "lstm": "plain LSTM",
    "rpni": "RPNI",
    "edsm": "EDSM",
}
TABLES: dict[str, Callable[[], str]] = {
    "tomita": tomita,
    "mlregtest": mlregtest,
    "peers": peers,
    "scratch": scratch,
    "parentheses": parentheses,
    **MEANING,
    **SPEED,
    **TRUST,
}


def _share(outcomes: Iterable[bool]) -> str:
    listed = list(outcomes)
    return f"{sum(listed)} of {len(listed)}"


if __name__ == "__main__":
    main()
