"""Write the tables of README.md and of the pages in docs, between their markers, from results.

Run: python experiments/tables.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from statistics import mean, median
from typing import Any

from induction_tables import INDUCTION
from meaning_tables import MEANING
from memory_tables import MEMORY
from page import ROOT, load, markdown, measured
from proof_tables import PROOFS
from readable_tables import READABLE
from speed_tables import SPEED
from states_tables import STATES
from summary_table import summary
from trust_tables import TRUST

from kleene.files import write_atomically

DOCS = ROOT / "docs"
PAGES = (
    ROOT / "README.md",
    ROOT / "experiments" / "NOTES.md",
    *sorted((DOCS / "reproduction").glob("*.md")),
    *(DOCS / "results" / f"{name}.md" for name in ("induction", "languages", "speed", "states")),
    *sorted((DOCS / "explanation").glob("*.md")),
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
        return "_No results yet: `experiments/reproduce.py tomita`._"
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
                f"{mean(result['fit_seconds'] for result in results):.1f} s",
                f"{max(result['fit_seconds'] for result in results):.1f} s",
            ]
        )
    header = ["language", "100 % on fresh words", "exact automaton", "proved for all words"]
    more = ["control: GRU + k-means", "CPU time of a fit", "at most"]
    return f"{markdown([*header, *more], lines)}\n\nMeasured on {measured(rows)}."


def read_networks() -> str:
    """Networks trained elsewhere, one row each; Tomita by cell."""
    rows = load("read_networks")
    if not rows:
        return "_No results yet: `python experiments/read_networks.py`._"
    lines = []
    for row in rows:
        name, result = row["key"]["network"], row["result"]
        if name.startswith("taysir"):
            small = [p for p in result["front"] if p["states"] <= 15]
            lines.append(
                [
                    name.replace("taysir", "TAYSIR"),
                    str(result["states"]),
                    f"{result['held_out_error']:.2%} of {result['held_out_words']:,}",
                    f"{result['random_error']:.2%}",
                    f"{min(p['held_out_error'] for p in small):.2%}",
                    "",
                    f"{result['read_cpu_seconds']:.1f} s",
                    _aalpy([result]),
                ]
            )
    for cell, title in {"gru": "Tomita 1-7, nn.GRU", "lstm": "Tomita 1-7, nn.LSTM"}.items():
        found = [r["result"] for r in rows if r["key"]["network"].endswith(f" {cell}")]
        if found:
            has = [result for result in found if result["network_has_language"]]
            lines.append(
                [
                    title,
                    f"{min(r['states'] for r in found)} to {max(r['states'] for r in found)}",
                    f"{max(r['held_out_error'] for r in found):.2%} at most",
                    f"{max(r['random_error'] for r in found):.2%} at most",
                    "",
                    f"{_share(r['exact'] for r in has)} that have the language",
                    f"{max(r['read_cpu_seconds'] for r in found):.1f} s at most",
                    _aalpy(found),
                ]
            )
    header = ["network", "states", "held-out error", "random error", "held-out, at most 15 states"]
    return markdown([*header, "exact language", "CPU time", "AALpy's own KV"], lines)


def _aalpy(results: list[dict[str, Any]]) -> str:
    """AALpy's learner on the same networks: states, error and time, or that it was stopped."""
    runs = [result["aalpy"] for result in results if "aalpy" in result]
    if not runs:
        return "not run"
    done = [run for run in runs if not run["stopped"]]
    stopped = f"{len(runs) - len(done)} of {len(runs)} stopped; " if len(done) < len(runs) else ""
    if not done:
        return f"stopped after {max(run['cpu_seconds'] for run in runs):.0f} s"
    if len(runs) == 1:
        return f"{done[0]['states']} states, {done[0]['error']:.2%}, {done[0]['cpu_seconds']:.1f} s"
    right = sum(run["error"] == 0 for run in done)
    most = max(run["cpu_seconds"] for run in done)
    return f"{stopped}{right} of {len(done)} without error, {most:.1f} s at most"


def mlregtest() -> str:
    rows = load("mlregtest")
    if not rows:
        return "_No results yet: `python experiments/mlregtest.py`._"
    tests = ["TestSR", "TestSA", "TestLR", "TestLA"]
    lines = []
    for archive, title in {"dev10": "development", "dev20": "others"}.items():
        for method, name in METHODS.items():
            found = [
                row
                for row in rows
                if row["key"]["method"] == method
                and row["result"].get("archive", "dev10") == archive
            ]
            if not found:
                continue
            results = [row["result"] for row in found]
            known = [result["exact"] for result in results if result["exact"] is not None]
            perfect = (all(result[test] == 1 for test in tests) for result in results)
            lines.append(
                [
                    f"{len(results)} {title}",
                    name,
                    *(f"{mean(result[test] for result in results):.3f}" for test in tests),
                    _share(perfect),
                    _share(known) if known else "",
                    f"{median(row['cpu_seconds'] for row in found):.0f} s",
                    f"{max(row['cpu_seconds'] for row in found):.0f} s",
                    measured(found),
                ]
            )
    header = ["languages", "method", *tests, "all four 1.000", "exact language"]
    return markdown([*header, "CPU time, median", "at most", "measured"], lines)


def paper_recipe() -> str:
    """The paper's recipe: what is learned, and what each way of reading makes of it."""
    rows = load("paper_recipe")
    lines = []
    settings = dict.fromkeys(_recipe_setting(row) for row in rows)
    for setting in sorted(settings, key=lambda s: (s[0], s[1] != "dot", s[1], s[2], -s[3], s[4])):
        earlier, similarity, optimizer, states, grammar = setting
        runs = [row for row in rows if _recipe_setting(row) == setting]
        found = [row["result"] for row in runs]
        learned = [result for result in found if result["learned"]]
        limits = {f"{60 * row['recipe']['minutes']:.0f} s" for row in runs}
        lines.append(
            [
                f"{similarity}, {optimizer}, k = {states}" + (", earlier" if earlier else ""),
                f"Tomita {grammar}",
                f"{_share(result['learned'] for result in found)}",
                f"{min(result['accuracy'] for result in found):.3f}",
                _range([round(result["train_seconds"]) for result in found], " s"),
                _range([result.get("attempts", 1) for result in found]),
                *(
                    _share(result[f"{method}_exact"] for result in learned)
                    for method in ("counts", "soft-counts", "auto")
                ),
                _range([result["states_used"] for result in learned]),
                str(found[0]["minimal_states"]),
                ", ".join(sorted(limits, key=len)),
            ]
        )
    header = ["setting", "language", "learned", "least soft accuracy", "CPU time", "attempts"]
    more = ["exact by counts", "by soft counts", "by auto", "states used", "minimal", "limit"]
    return markdown([*header, *more], lines)


def _range(values: Sequence[float], unit: str = "") -> str:
    """The median, with the least and the greatest where they differ."""
    if not values:
        return ""
    text = f"{median(values):.0f}{unit}"
    return text if len(set(values)) == 1 else f"{text} ({min(values):.0f}-{max(values):.0f})"


def _recipe_setting(row: dict[str, Any]) -> tuple[Any, ...]:
    """Whether the run is of the earlier curriculum, and its key without the seed."""
    names = ("similarity", "optimizer", "states", "grammar")
    return ("curriculum" not in row["recipe"], *(row["key"][name] for name in names))


def length_generalisation() -> str:
    """One line a task; the papers' means beside are on the page."""
    rows = load("length_generalisation")
    return _fits(rows, "task", ("40 to 256", "10,000"))


def groups() -> str:
    rows = [row for row in load("groups_and_random_dfas") if row["key"]["part"] == "groups"]
    return _fits(rows, "group", ("40 to 256",))


def random_dfas() -> str:
    rows = [row for row in load("groups_and_random_dfas") if row["key"]["part"] == "random"]
    for row in rows:
        key = row["key"]
        share = f"{key['share']:.0%} of the {key['noise']} wrong" if key["share"] else "no noise"
        key["name"] = f"{key['states']} states, {share}"
    return _fits(rows, "name", ("new",))


def _fits(rows: list[dict[str, Any]], name: str, tests: tuple[str, ...]) -> str:
    """Default fits of tasks whose automaton is known."""
    lines = []
    for task in dict.fromkeys(row["key"][name] for row in rows):
        results = [row["result"] for row in rows if row["key"][name] == task]
        lines.append(
            [
                task,
                str(results[0]["minimal_states"]),
                *(f"{100 * min(r['accuracy'][test] for r in results):.1f}" for test in tests),
                _share(result["exact"] for result in results),
                _share(result["certified"] for result in results),
                f"{median(result['fit_seconds'] for result in results):.0f} s",
            ]
        )
    accuracy = [f"accuracy, {test}, %" for test in tests]
    header = ["task", "minimal states", *accuracy, "exact automaton", "proved for all words"]
    return markdown([*header, "CPU time of a fit, median"], lines)


def peers() -> str:
    rows = load("peers")
    if not rows:
        return "_No results yet: `python experiments/peers.py`._"
    names = {
        "table": "table",
        "counts": "counts (Algorithm 1)",
        "mean": "mean probability, as in the paper",
        "soft-counts": "soft counts",
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
    header = ["method", "exact language", "fidelity", "states before minimising", "words run"]
    return markdown([*header, "CPU time"], lines)


METHODS = {
    "kleene": "Kleene",
    "gru": "plain GRU",
    "lstm": "plain LSTM",
    "transformer": "transformer",
    "rpni": "RPNI",
    "edsm": "EDSM",
}
TABLES: dict[str, Callable[[], str]] = {
    "summary": summary,
    "tomita": tomita,
    "read-networks": read_networks,
    "mlregtest": mlregtest,
    "peers": peers,
    "paper-recipe": paper_recipe,
    "length-generalisation": length_generalisation,
    "groups": groups,
    "random-dfas": random_dfas,
    **INDUCTION,
    **MEANING,
    **MEMORY,
    **PROOFS,
    **READABLE,
    **SPEED,
    **STATES,
    **TRUST,
}


def _share(outcomes: Iterable[bool]) -> str:
    listed = list(outcomes)
    return f"{sum(listed)} of {len(listed)}"


if __name__ == "__main__":
    main()
