"""Tables of languages beyond finite state: parentheses, other counting languages, palindromes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median

from page import (
    LEARNED_BY,
    ORIGINS,
    Row,
    Rows,
    Table,
    at,
    chosen,
    figure,
    learned_by,
    load,
    markdown,
    measured,
    share_of,
    spread,
)
from paper.palindromes import PAPER as PAPER_PALINDROMES
from paper.parentheses import PAPER
from paper.sets import PARENTHESES_TESTS

COLUMNS = tuple(PARENTHESES_TESTS)
LARGE = [0.001] * len(COLUMNS)
"""The goal in every column of the large set; on the small set the paper's figures are the goal."""
FRESH = 30
"""The first seed that was unknown when the reading got its present form."""


def errors_beside_the_paper(
    name: str, runs: Mapping[str, Rows], paper: Mapping[str, Sequence[float] | None],
    columns: Sequence[str], goals: Mapping[str, Sequence[float] | None],
) -> str:  # fmt: skip
    """A line for every network and mode, then the paper's figures."""
    lines = []
    for network, rows in runs.items():
        learner = ORIGINS["plain" if network.startswith("LSTM") else "trained"]
        for mode in ("soft", "hard"):
            kept = [row for row in rows if mode in row["result"]["errors"]]
            if kept:
                cells = [spread(f"result.errors.{mode}.{column}")(kept) for column in columns]
                line = [f"{network}, {mode}", learner, seeds(kept), *cells]
                if goals:
                    goal = goals[network]
                    line.append(share_of(partial(reaches, mode, goal))(kept) if goal else "")
                lines.append(line)
        if theirs := paper[network]:
            cells = [f"{value:.3f}" for value in theirs] + [""] * bool(goals)
            lines.append([f"*{network}, the paper*", learner, "", *cells])
    header = [name, LEARNED_BY, "seeds", *columns, *(["goal reached"] if goals else [])]
    return markdown(header, lines)


def reaches(mode: str, goal: Sequence[float], row: Row) -> bool:
    """Whether no error of a run is above its goal."""
    found = row["result"]["errors"][mode].values()
    return all(error <= most for error, most in zip(found, goal, strict=True))


def seeds(rows: Rows) -> str:
    """How many seeds, and which."""
    numbers = sorted(row["key"]["seed"] for row in rows)
    return f"{len(numbers)} ({numbers[0]}-{numbers[-1]})" if len(numbers) > 1 else "1"


def present(**key: object) -> Rows:
    """Runs of parentheses by the present recipe."""
    rows = chosen(load("parentheses"), **key)
    return [row for row in rows if "attempts" in row["result"]]


def models(size: str) -> str:
    """The paper's table of models on one of its sets."""
    names = ("LSTM", "LSTM-P", "SR-LSTM", "SR-LSTM-P")
    runs = {name: present(size=size, model=name, states=5 if "SR" in name else 0) for name in names}
    paper = {name: PAPER[f"{size} {name}"] for name in names}
    goals = dict.fromkeys(names, LARGE) if size == "large" else paper
    table = errors_beside_the_paper(f"{size} set", runs, paper, COLUMNS, goals)
    seconds = [row["cpu_seconds"] for rows in runs.values() for row in rows]
    return f"{table}\n\nCPU time of a run, all steps: median {median(seconds):.0f} s."


def numbers_of_states() -> str:
    """The paper's table of the number of centroids, on the small set."""
    suffixes = {2: " k=2", 5: "", 10: " k=10", 50: " k=50"}
    runs = {f"k = {k}": present(size="small", model="SR-LSTM-P", states=k) for k in suffixes}
    paper = {f"k = {k}": PAPER[f"small SR-LSTM-P{more}"] for k, more in suffixes.items()}
    return errors_beside_the_paper("SR-LSTM-P", runs, paper, COLUMNS, {})


def palindromes() -> str:
    """The paper's table of palindromes."""
    rows = load("palindromes")
    runs = {model: chosen(rows, model=model) for model in PAPER_PALINDROMES}
    columns = list(rows[0]["result"]["errors"]["soft"])
    return errors_beside_the_paper("palindromes", runs, PAPER_PALINDROMES, columns, {})


def reading(row: Row) -> str:
    """How a counter machine was read, and whether its seed was used to choose the reading."""
    if "centroids" not in row["result"]["counter"]["soft"]:
        return "earlier"
    return "present, tuned on" if row["key"]["seed"] < FRESH else "present"


def proved_in(*modes: str) -> Callable[[Row], bool]:
    """Whether the machine read in one of the modes is proved to be the language."""
    return lambda row: any(
        row["result"]["counter"].get(mode, {}).get("proved", False) for mode in modes
    )


def provable_seconds(rows: Rows) -> str:
    seconds = rows[0]["result"]["seconds"].values()
    return ", ".join(f"{value:.0f}" for value in seconds) + " s"


def errors_after(rows: Rows) -> str:
    """The largest error of all columns and modes."""
    errors = rows[0]["result"].get("errors")
    return f"{max(max(mode.values()) for mode in errors.values()):.3f} at most" if errors else ""


def proved_to_the_end(rows: Rows) -> str:
    """How many fresh seeds are proved up to the length that was asked for."""
    fresh = [row for row in rows if row["key"]["fresh"]]
    bounds = [row["result"]["bound"] for row in fresh]
    reached = sum(bool(bound) and bound["length"] >= bound["asked"] for bound in bounds)
    proved = f"Proved to depth 20 and length 1,000: {reached} of {len(fresh)} fresh seeds."
    return f"{proved} Measured on {measured(rows)}."


COUNTING: dict[str, Table | Callable[[], str]] = {
    "parentheses-large": lambda: models("large"),
    "parentheses-small": lambda: models("small"),
    "parentheses-states": numbers_of_states,
    "palindromes": palindromes,
    "parentheses-machines": Table(
        source="parentheses",
        run="experiments/reproduce.py bp",
        keep={"model": "SR-LSTM-P", "states": 5},
        only=lambda row: "attempts" in row["result"],
        order=lambda row: (row["key"]["size"], reading(row)),
        lines={"set": at("key.size"), "reading": reading},
        learned=learned_by("trained"),
        columns={
            "seeds": seeds,
            "machine = language, proved, soft": share_of(proved_in("soft")),
            "hard": share_of(proved_in("hard")),
            "median fidelity, soft": figure("result.counter.soft.fidelity", "{:.1%}"),
        },
    ),
    "counting": Table(
        source="counting",
        run="python experiments/counting.py",
        only=lambda row: "attempts" in row["result"],
        lines={"language": at("key.language")},
        learned=learned_by("trained"),
        columns={
            "seeds": seeds,
            **{
                f"network's error, {column}": spread(f"result.errors.soft.{column}")
                for column in ("l <= 40", "l <= 100", "l <= 400")
            },
            "machine = language: soft": share_of(proved_in("soft")),
            "hard": share_of(proved_in("hard")),
            "either": share_of(proved_in("soft", "hard")),
            "CPU time": figure("cpu_seconds", "{:.0f} s"),
        },
    ),
    "provable-counting": Table(
        source="provable_counting",
        run="python experiments/counting.py --proofs",
        order=at("key.seed"),
        lines={
            "seed": lambda row: (
                f"{row['key']['seed']}{'' if row['key']['fresh'] else ' (tuned on)'}"
            )
        },
        learned=learned_by("trained"),
        columns={
            "errors before, at 20 and 1,000": lambda rows: (
                f"{list(rows[0]['result']['trained']['soft'].values())[-1]:.3f}"
            ),
            "after, all six columns": errors_after,
            "depth": figure("result.bound.depth"),
            "length": figure("result.bound.length"),
            "drift in steps": figure("result.bound.drift", "{:.2f}"),
            "CPU time: train, read, teach, prove": provable_seconds,
        },
        note=proved_to_the_end,
    ),
}
