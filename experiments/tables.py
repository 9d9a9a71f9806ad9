"""Write the tables of README.md and of the pages in docs, between their markers, from results.

Run: python experiments/tables.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from statistics import mean, stdev

from counting_tables import COUNTING
from extraction_benchmark.table import table as extraction_benchmark
from own_languages import FRESH, TESTS
from page import (
    LEARNED_BY,
    ORIGINS,
    ROOT,
    Cell,
    Row,
    Rows,
    Table,
    at,
    chosen,
    figure,
    figures,
    first,
    joined,
    learned_by,
    load,
    markdown,
    measured,
    measured_on,
    share,
    share_of,
    spread,
    where,
)
from proof_tables import PROOFS
from speed_tables import SPEED
from summary_table import summary
from text_tables import TEXTS

from kleene.files import write_atomically

PAGES = (
    ROOT / "README.md",
    ROOT / "experiments" / "NOTES.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)
MARKER = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if stale")
    options = parser.parse_args()
    for path in PAGES:
        before = path.read_text() if path.exists() else ""
        after = MARKER.sub(_filled, before)
        if after != before and options.check:
            sys.exit(f"{path.name} is older than the results; run `make tables`")
        if after != before:
            write_atomically(path, after)


def _filled(found: re.Match[str]) -> str:
    name = found.group(2)
    if name not in TABLES:
        sys.exit(f"there is no table {name!r}; known are {', '.join(sorted(TABLES))}")
    table = TABLES[name]
    return (
        f"{found.group(1)}{table.markdown() if isinstance(table, Table) else table()}\n<!-- end -->"
    )


METHODS = {
    "kleene": "Kleene",
    "fit": "Kleene",
    "network": 'Kleene, `learn="network"`',
    "gru": "plain GRU",
    "lstm": "plain LSTM",
    "transformer": "transformer",
    "rpni": "RPNI",
    "edsm": "EDSM",
}
METHOD_ORDER = list(METHODS)
GRADIENT = {"gru", "lstm", "transformer"}


def by_method(rows: Rows) -> str:
    """Who learned: Kleene's own origins, gradients for plain networks, else the peer itself."""
    method = rows[0]["key"]["method"]
    if method in ("kleene", "fit"):
        return learned_by("induced")(rows)
    if method == "network":
        return ORIGINS["trained"]
    return ORIGINS["plain"] if method in GRADIENT else METHODS[method]


def method(row: Row) -> str:
    return METHODS[row["key"]["method"]]


def fits(source: str, run: str, name: Callable[[Row], str], *tests: str, **keep: str) -> Table:
    """Default fits of tasks whose automaton is known."""
    return Table(
        source=source,
        run=run,
        keep=keep,
        lines={"task": name},
        learned=learned_by("induced"),
        columns={
            "minimal states": figure("result.minimal_states", reduce=first),
            **{
                f"accuracy, {test}, %": figure(f"result.accuracy.{test}", "{:.1f}", min, 100)
                for test in tests
            },
            "exact automaton": share("result.exact"),
            "proved for all words": share("result.certified"),
            "CPU time of a fit, median": figure("result.fit_seconds", "{:.0f} s"),
        },
    )


def random_name(row: Row) -> str:
    key = row["key"]
    noise = f"{key['share']:.0%} of the {key['noise']} wrong" if key["share"] else "no noise"
    return f"{key['states']} states, {noise}"


def four_tests(*tests: str) -> dict[str, Cell]:
    """Mean accuracies, and how many languages have no error in any test."""
    return {
        **{test: figure(f"result.{test}", "{:.3f}", mean) for test in tests},
        "all four 1.000": share_of(lambda row: all(row["result"][test] == 1 for test in tests)),
    }


OUTCOME = joined(
    share("result.exact"), figure("result.accuracy", "{:.1%}", mean),
    figure("result.search_seconds", "{:.1f} s", mean),
)  # fmt: skip
"""Exact runs, mean accuracy (none if the method did not finish) and CPU seconds."""


def aalpy(rows: Rows) -> str:
    """AALpy's learner on the same networks: states, error and time, or that it was stopped."""
    runs = figures(rows, "result.aalpy")
    done = [run for run in runs if not run["stopped"]]
    if not done:
        return f"stopped after {max(run['cpu_seconds'] for run in runs):.0f} s" if runs else ""
    if len(runs) == 1:
        return f"{done[0]['states']} states, {done[0]['error']:.2%}, {done[0]['cpu_seconds']:.1f} s"
    right = sum(run["error"] == 0 for run in done)
    most = max(run["cpu_seconds"] for run in done)
    return f"{right} of {len(runs)} without error, {most:.1f} s at most"


def network_name(row: Row) -> str:
    name = row["key"]["network"]
    if name.startswith("taysir"):
        return name.replace("taysir", "TAYSIR")
    return f"Tomita 1-7, nn.{name.rpartition(' ')[2].upper()}"


def least_and_greatest(path: str) -> Cell:
    def cell(rows: Rows) -> str:
        found = figures(rows, path)
        least, greatest = min(found), max(found)
        return str(least) if least == greatest else f"{least} to {greatest}"

    return cell


def peers() -> str:
    """Ways to read one network, and two learners that see only the words."""
    names = {
        "table": "table",
        "counts": "counts (Algorithm 1)",
        "mean": "mean probability, as in the paper",
        "lstar": "L*",
        "rpni": "RPNI, from the words",
        "edsm": "EDSM, from the words",
    }
    rows, lines = load("peers"), []
    for name, title in names.items():
        learner = METHODS.get(name, ORIGINS["trained"])
        cells = (
            share(f"result.{name}.exact"),
            figure(f"result.{name}.fidelity", "{:.3f}", mean),
            figure(f"result.{name}.states", "{:.1f}", mean),
            figure(f"result.{name}.queries", "{:,.0f}", mean),
            figure(f"result.{name}.cpu_seconds", "{:.1f} s", mean),
        )
        lines.append([title, learner, *(cell(rows) for cell in cells)])
    header = ["method", LEARNED_BY, "exact language", "fidelity", "states before minimising"]
    return markdown([*header, "words run", "CPU time"], lines)


def states_in_use(rows: Rows) -> str:
    """Mean number of states in use over that of the minimal automaton."""
    ratios = [r["states in use"] / r["states of the language"] for r in figures(rows, "result")]
    return f"{mean(ratios):.1f} times" if ratios else ""


def questions() -> str:
    """Accuracy on adversarial words after answered questions, and after random words."""
    rows = [row for row in load("questions") if "random" in row["result"]]
    if not rows:
        return "_No results yet: `python experiments/questions.py`._"
    lines = []
    for name, title in (("asked", "questions"), ("random", "random words")):
        found = [mean(row["result"][name][count] for row in rows) for count in QUESTIONS]
        lines.append([title, ORIGINS["induced"], str(len(rows)), *(f"{one:.3f}" for one in found)])
    header = ["answers to", LEARNED_BY, "languages", "none", *QUESTIONS[1:]]
    return markdown(header, lines)


QUESTIONS = ("0", "5", "20", "50")
LEARNERS = {
    "network": 'gradient, `learn="network"`',
    "automaton": 'search in the rows, `learn="automaton"`',
    "auto": '`learn="auto"`',
    "plain": "gradient, no states",
    "ngrams": "n-grams",
}


def who_learns() -> str:
    """Accuracy by task and learner, and who wins between gradient and search."""
    rows, lines = load("who_learns"), []
    tasks = dict.fromkeys(row["key"]["task"] for row in rows)
    for task in tasks:
        of = {name: chosen(rows, task=task, learner=name) for name in LEARNERS}
        cells = [
            f"{mean(figures(found, 'result.accuracy')):.1%}" if found else ""
            for found in of.values()
        ]
        gains = [
            network["result"]["accuracy"] - other["result"]["accuracy"]
            for network, other in zip(of["network"], of["automaton"], strict=False)
        ]
        verdict = "gradient" if gains and min(gains) > 0 else "search" if max(gains) < 0 else "-"
        origins = dict.fromkeys(ORIGINS[origin] for origin in figures(of["auto"], "result.origin"))
        lines.append([task, *cells, verdict, ", ".join(origins)])
    if not lines:
        return "_No results yet: `python experiments/who_learns.py`._"
    header = ["task", *LEARNERS.values(), "better on every seed", "`auto` was learned by"]
    return markdown(header, lines)


def memory_claim() -> str:
    """Where four networks keep the depth: means over seeds with 95 % intervals."""
    columns = ("error at depth 5", "R2 from h", "R2 from c", "c decides", "h decides")
    columns += ("accuracy without h", "accuracy without c")
    lines = []
    for name in ("LSTM", "LSTM-P", "SR-LSTM", "SR-LSTM-P"):
        if rows := chosen(load("memory_claim"), model=name):
            cells = [with_interval(figures(rows, f"result.{column}")) for column in columns]
            lines.append([name, ORIGINS["trained" if "SR" in name else "plain"], *cells])
    if not lines:
        return "_No results yet: `python experiments/memory_claim.py`._"
    return markdown(["network", LEARNED_BY, *columns], lines)


def with_interval(values: list[float]) -> str:
    """The mean, and half the width of its 95 % interval (normal approximation)."""
    if len(values) < 2:
        return "".join(f"{value:.2f}" for value in values)
    return f"{mean(values):.2f} ± {1.96 * stdev(values) / len(values) ** 0.5:.2f}"


TABLES: dict[str, Table | Callable[[], str]] = {
    "extraction-benchmark": extraction_benchmark,
    "summary": summary,
    "tomita": Table(
        source="tomita",
        run="experiments/reproduce.py tomita",
        lines={"language": lambda row: f"Tomita {row['key']['grammar']}"},
        order=at("key.grammar"),
        learned=learned_by("induced"),
        columns={
            "100 % on fresh words": share("result.fresh_accuracy", 1),
            "exact automaton": share("result.exact"),
            "proved for all words": share("result.certified"),
            "control: GRU + k-means": share("result.control_exact"),
            "CPU time of a fit": figure("result.fit_seconds", "{:.1f} s", mean),
            "at most": figure("result.fit_seconds", "{:.1f} s", max),
        },
        note=measured_on,
    ),
    "network-first": Table(
        source="network_first",
        run="python experiments/network_first.py tomita",
        lines={
            "languages": lambda row: {"tomita": "Tomita 1-7"}.get(
                row["key"]["part"], "random DFAs"
            ),
            "cell": at("key.cell"),
            "centroids": lambda row: row["key"].get("states") or "default",
        },
        only=lambda row: row["key"]["learn"] == "network",
        order=lambda row: (row["key"]["part"] != "tomita", row["key"]["cell"] != "gru"),
        learned=learned_by("trained"),
        columns={
            "100 % on new words": share("result.accuracy on new words", 1),
            "exact by counts": share("result.counts exact"),
            "exact by table": share("result.table exact"),
            "proved for all words": share("result.proved"),
            "states in use, of the minimal": lambda rows: states_in_use(rows),
            "CPU time, median": figure("result.fit seconds", "{:.0f} s"),
            "at most": figure("result.fit seconds", "{:.0f} s", max),
        },
    ),
    "questions": questions,
    "who-learns": who_learns,
    "memory-claim": memory_claim,
    "peers": peers,
    "paper-recipe": Table(
        source="network_first",
        run="python experiments/network_first.py tomita --learn paper",
        keep={"part": "tomita", "learn": "paper"},
        order=at("key.language"),
        lines={"language": lambda row: f"Tomita {row['key']['language']}"},
        learned=learned_by("paper"),
        columns={
            "learned": share("result.accuracy on rows", 1),
            "CPU time": spread("result.fit seconds", 0, " s"),
            "100 % on new words": share("result.accuracy on new words", 1),
            "exact by counts": share("result.counts exact"),
            "exact by table": share("result.table exact"),
            "states in use": spread("result.states in use", 0),
            "minimal": figure("result.states of the language", reduce=first),
        },
    ),
    "length-generalisation": fits(
        "length_generalisation",
        "python experiments/state_tracking.py length",
        at("key.task"),
        "40 to 256",
        "10,000",
    ),
    "groups": fits(
        "groups_and_random_dfas",
        "python experiments/state_tracking.py groups",
        at("key.group"),
        "40 to 256",
        part="groups",
    ),
    "random-dfas": fits(
        "groups_and_random_dfas",
        "python experiments/state_tracking.py random",
        random_name,
        "new",
        part="random",
    ),
    "mlregtest": Table(
        source="mlregtest",
        run="python experiments/mlregtest.py",
        order=lambda row: (
            row["result"].get("archive", "dev10"),
            METHOD_ORDER.index(row["key"]["method"]),
        ),
        lines={
            "languages": lambda row: {"dev10": "10 development", "dev20": "20 others"}[
                row["result"].get("archive", "dev10")
            ],
            "method": method,
        },
        learned=by_method,
        columns={
            **four_tests("TestSR", "TestSA", "TestLR", "TestLA"),
            "exact language": share("result.exact"),
            "CPU time, median": figure("cpu_seconds", "{:.0f} s"),
            "at most": figure("cpu_seconds", "{:.0f} s", max),
            "measured": measured,
        },
    ),
    "own-languages": Table(
        source="own_languages",
        run="python experiments/own_languages.py --methods fit,network,gru",
        keep={"seed": FRESH},
        only=lambda row: row["key"]["method"] in ("fit", "network", "gru"),
        order=lambda row: (row["key"]["symbols"], METHOD_ORDER.index(row["key"]["method"])),
        lines={"symbols": at("key.symbols"), "method": method},
        learned=by_method,
        columns={
            "held-out rows": figure("result.held_out", "{:.3f}", mean),
            **four_tests(*TESTS),
            "CPU time, median": figure("result.learning_seconds", "{:.0f} s"),
            "at most": figure("result.learning_seconds", "{:.0f} s", max),
        },
    ),
    "read-networks": Table(
        source="read_networks",
        run="python experiments/read_networks.py",
        order=lambda row: (network_name(row).startswith("Tomita"), network_name(row)),
        lines={"network": network_name},
        learned=lambda rows: "gradient, elsewhere",
        columns={
            "states": least_and_greatest("result.states"),
            "held-out error, at most": figure("result.held_out_error", "{:.2%}", max),
            "random error, at most": figure("result.random_error", "{:.2%}", max),
            "exact, of those that have the language": lambda rows: share("result.exact")(
                [row for row in rows if row["result"].get("network_has_language")]
            ),
            "CPU time, at most": figure("result.read_cpu_seconds", "{:.1f} s", max),
            "AALpy's own KV": aalpy,
        },
    ),
    "induction-random": Table(
        source="induction",
        run="python experiments/induction.py random",
        keep={"part": "random"},
        order=lambda row: [row["key"][name] for name in ("states", "symbols", "rows")],
        lines={name: at(f"key.{name}") for name in ("states", "symbols", "rows")},
        learned=lambda rows: "search in the rows, each",
        columns={METHODS[m]: where(OUTCOME, "-", method=m) for m in ("kleene", "edsm", "rpni")},
    ),
    "induction-noise": Table(
        source="induction",
        run="python experiments/induction.py noise",
        keep={"part": "noise"},
        order=at("key.noise"),
        lines={"flipped labels": lambda row: f"{row['key']['noise']:.0%}"},
        learned=lambda rows: "search in the rows, each",
        columns={METHODS[m]: where(OUTCOME, "-", method=m) for m in ("kleene", "edsm")},
    ),
    **COUNTING,
    **TEXTS,
    **SPEED,
    **PROOFS,
}

if __name__ == "__main__":
    main()
