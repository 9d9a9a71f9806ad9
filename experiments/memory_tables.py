"""Tables of languages beyond finite state: parentheses, other counting languages, palindromes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

from page import load, markdown
from paper.palindromes import PAPER as PAPER_PALINDROMES
from paper.parentheses import PAPER

from kleene.languages.paper_sets import PARENTHESES_TESTS

MODELS = ("LSTM", "LSTM-P", "SR-LSTM", "SR-LSTM-P")
COLUMNS = tuple(PARENTHESES_TESTS)
PAPER_STATES = {
    states: PAPER[f"small SR-LSTM-P{more}"]
    for states, more in {2: " k=2", 5: "", 10: " k=10", 50: " k=50"}.items()
}
LARGEST_ERROR = 0.001
"""The goal in every column of the large set."""

Row = dict[str, Any]


def table_of_models(size: str) -> str:
    rows = load("parentheses")
    lines = []
    for model in MODELS:
        found = chosen(rows, size=size, model=model, states=5 if "SR" in model else 0)
        for recipe, kept in by_recipe(found).items():
            for mode in ("soft", "hard"):
                if any(mode in row["result"]["errors"] for row in kept):
                    cells = [f"{model}, {mode}", recipe, seeds(kept), *spread(kept, mode)]
                    lines.append([*cells, reached(kept, mode, PAPER[f"{size} {model}"], size)])
        if theirs := PAPER[f"{size} {model}"]:
            lines.append([f"*{model}, the paper*", "", "", *map(three, theirs), ""])
    goal = "all <= .001" if size == "large" else "all <= the paper's"
    head = [f"{size} set", "recipe", "seeds", *COLUMNS, goal]
    seconds = [row["cpu_seconds"] for row in rows if row["key"]["size"] == size]
    time = f"\n\nCPU time of a run, all steps: median {median(seconds):.0f} s." if seconds else ""
    return markdown(head, lines) + time


def reached(rows: Sequence[Row], mode: str, paper: Sequence[float] | None, size: str) -> str:
    """How many runs reach the goal in every column."""
    limits = [LARGEST_ERROR] * len(COLUMNS) if size == "large" else paper
    if limits is None:
        return ""
    good = [
        all(
            e <= most
            for e, most in zip(row["result"]["errors"][mode].values(), limits, strict=True)
        )
        for row in rows
    ]
    return f"{sum(good)} of {len(good)}"


def by_recipe(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Runs of the present recipe, and those of the one before it."""
    found: dict[str, list[Row]] = {"present": [], "earlier": []}
    for row in rows:
        found["present" if "attempts" in row["result"] else "earlier"].append(row)
    return {recipe: kept for recipe, kept in found.items() if kept}


def seeds(rows: Sequence[Row]) -> str:
    """How many seeds, and which."""
    numbers = sorted(row["key"]["seed"] for row in rows)
    return f"{len(numbers)} ({numbers[0]}-{numbers[-1]})" if len(numbers) > 1 else str(len(numbers))


def table_of_states() -> str:
    lines = []
    for states, paper in PAPER_STATES.items():
        found = chosen(load("parentheses"), size="small", model="SR-LSTM-P", states=states)
        for recipe, kept in by_recipe(found).items():
            lines.append([f"k = {states}, soft", recipe, seeds(kept), *spread(kept, "soft")])
        lines.append([f"*k = {states}, the paper*", "", "", *map(three, paper or ())])
    return markdown(["SR-LSTM-P", "recipe", "seeds", *COLUMNS], lines)


def table_of_attempts() -> str:
    """The present recipe: errors on the words that choose, by round, and how often it restarts."""
    lines = []
    for size in ("large", "small"):
        found = chosen(load("parentheses"), size=size, model="SR-LSTM-P", states=5)
        for row in by_recipe(found).get("present", []):
            result = row["result"]
            before, after = (
                result["rounds"][0]["longer"],
                result["rounds"][result["round"]]["longer"],
            )
            lines.append(
                [
                    f"{size}, seed {row['key']['seed']}",
                    str(len(result["attempts"])),
                    f"{result['round']} of {len(result['rounds']) - 1}",
                    " / ".join(map(three, before.values())),
                    " / ".join(map(three, after.values())),
                    f"{row['cpu_seconds']:.0f} s",
                ]
            )
    head = [
        "run",
        "attempts",
        "round kept",
        "longer words, trained (soft / hard)",
        "kept",
        "CPU time",
    ]
    return markdown(head, lines) if lines else "_No results yet: `experiments/reproduce.py bp`._"


def table_of_drift() -> str:
    lines = []
    for size in ("large", "small"):
        found = chosen(load("parentheses"), size=size, model="SR-LSTM-P", states=5)
        found = by_recipe(found).get("earlier", [])
        for mode in ("soft", "hard"):
            series = [[step[mode] for step in row["result"]["drift"]] for row in found]
            if series:
                cells = [between(values) for values in zip(*series, strict=True)]
                lines.append([f"{size}, {mode}", *cells])
    rounds = max((len(line) - 2 for line in lines), default=0)
    return markdown(["set, mode", "trained", *(f"round {i + 1}" for i in range(rounds))], lines)


def table_of_cures() -> str:
    """What was tried against drift, from one trained network."""
    rows = load("drift")
    names = dict.fromkeys(name for row in rows for name in row["result"])
    lines = [
        [name, *(between([row["result"][name][mode] for row in rows]) for mode in ("soft", "hard"))]
        for name in names
    ]
    return markdown(["cure", "soft", "hard"], lines)


def table_of_proofs() -> str:
    rows = load("parentheses")
    lines = []
    for size in ("large", "small"):
        for model in ("SR-LSTM-P", "SR-LSTM"):
            found = chosen(rows, size=size, model=model, states=5)
            for recipe, kept in by_recipe(found).items():
                for row in kept:
                    run = f"{row['key']['seed']}, {recipe}"
                    lines.append([f"{size}, {model}", run, *proof_cells(row)])
    return markdown(["network", "seed, recipe", *PROOF], lines)


PROOF = (
    "machine = language, proved (soft / hard)",
    "or a word",
    "step",
    "latches",
    "states",
    "steps overridden",
    "fidelity",
)


def proof_cells(row: Row) -> list[str]:
    soft, hard = row["result"]["counter"]["soft"], row["result"]["counter"].get("hard")
    proved = " / ".join("yes" if r["proved"] else "no" for r in (soft, hard) if r)
    if "error" in soft:
        return [proved, soft["error"].split(":")[0], "", "", "", "", ""]
    word = "" if soft["difference"] is None else f"`{soft['difference']}`"
    votes = f"{soft['overridden']:,} of {soft['votes']:,}"
    share = f"{soft['fidelity']:.1%}"
    states = STATES_READ[soft.get("centroids")]
    return [proved, word, f"{soft['step']:+.3f}", str(soft["latches"]), states, votes, share]


STATES_READ = {None: "centroids (earlier reading)", True: "centroids", False: "latches alone"}
FRESH = 30
"""The first seed of which nothing was known when the reading got its present form."""


def table_of_machines() -> str:
    """How often the machine is the language, by reading, fresh seeds apart."""
    lines = []
    for size in ("large", "small"):
        rows = chosen(load("parentheses"), size=size, model="SR-LSTM-P", states=5)
        groups: dict[str, list[Row]] = {}
        for row in by_recipe(rows).get("present", []):
            now = "centroids" in row["result"]["counter"]["soft"]
            tuned = row["key"]["seed"] < FRESH
            group = "present, tuned on" if now and tuned else "present" if now else "earlier"
            groups.setdefault(group, []).append(row)
        for group, kept in sorted(groups.items()):
            shares = [
                f"{sum(row['result']['counter'][mode]['proved'] for row in kept)} of {len(kept)}"
                for mode in ("soft", "hard")
            ]
            numbers = ", ".join(str(row["key"]["seed"]) for row in kept)
            lines.append([size, group, numbers, *shares])
    return markdown(["set", "reading", "seeds", "machine = language, soft", "hard"], lines)


def table_of_languages() -> str:
    """Fresh seeds together, those of the development one by one."""
    rows = load("counting")
    lines = []
    for name in dict.fromkeys(row["key"]["language"] for row in rows):
        found = chosen(rows, language=name)
        for recipe, kept in by_recipe(found).items():
            errors = [
                between([row["result"]["errors"]["soft"][column] for row in kept])
                for column in ("l <= 40", "l <= 100", "l <= 400")
            ]
            proved = [
                [row["result"]["counter"][mode]["proved"] for row in kept]
                for mode in ("soft", "hard")
                if all(mode in row["result"]["counter"] for row in kept)
            ]
            either = sum(any(runs) for runs in zip(*proved, strict=True))
            cells = [f"{sum(runs)} of {len(runs)}" for runs in proved]
            if len(proved) == 2:
                cells.append(f"{either} of {len(kept)}")
            time = f"{median(row['cpu_seconds'] for row in kept):.0f} s"
            cells += [""] * (3 - len(cells))
            lines.append([name, recipe, seeds(kept), *errors, *cells, time])
    head = ["language", "recipe", "seeds", "network, l <= 40", "l <= 100", "l <= 400"]
    proofs = ["machine = language: soft", "hard", "either"]
    return markdown([*head, *proofs, "CPU time"], lines)


def table_of_visibly_pushdown() -> str:
    """AALpy's learners, which are given the symbols that push and pop."""
    lines = []
    for row in load("counting"):
        for name, peer in row["result"].get("peers", {}).items():
            if peer["test_errors"]:
                errors = " / ".join(three(x) for x in peer["test_errors"].values())
                key = row["key"]
                lines.append([f"{key['language']}, seed {key['seed']}", name, errors])
    return markdown(["language", "learner", "errors, l <= 40 / 100 / 400"], lines)


def table_of_palindromes() -> str:
    rows = load("palindromes")
    lines = []
    for model, theirs in PAPER_PALINDROMES.items():
        found = [row for row in rows if row["key"]["model"] == model]
        for mode in ("soft", "hard"):
            kept = [row for row in found if mode in row["result"]["errors"]]
            if kept:
                columns = [row["result"]["errors"][mode].values() for row in kept]
                cells = [between(values) for values in zip(*columns, strict=True)]
                lines.append([f"{model}, {mode}", str(len(kept)), *cells])
        if theirs is not None:
            lines.append([f"*{model}, the paper*", "", *map(three, theirs)])
    return markdown(["palindromes", "seeds", "l <= 100", "l <= 200", "l <= 500"], lines)


def table_of_palindrome_states() -> str:
    """A plain LSTM that is given states: what of its hidden vectors and answers is left."""
    rows = load("palindrome_states")
    lines = []
    for states in sorted({row["key"]["states"] for row in rows}):
        results = [row["result"] for row in chosen(rows, states=states)]
        unexplained = between([result["unexplained"] for result in results])
        errors = [
            between([result[when]["soft"]["l <= 100"] for result in results])
            for when in ("plain", "before", "errors")
        ]
        lines.append([str(states), str(len(results)), unexplained, *errors])
    if not lines:
        return "_No results yet: `experiments/palindrome_states.py`._"
    head = ["centroids", "seeds", "variance of h missed", "plain LSTM", "with states", "trained"]
    kept = [row["result"]["components"] for row in rows]
    note = f"Principal components that have 99 % of the variance of h: {min(kept)} to {max(kept)}."
    return f"{markdown(head, lines)}\n\n{note}"


def table_of_remembered() -> str:
    kept = [row for row in load("palindromes") if row["key"]["model"] == "SR-LSTM-P"]
    columns = zip(*(row["result"]["remembered"] for row in kept), strict=True)
    shares = [median(values) for values in columns]
    return markdown(
        ["distance from the middle", *map(str, range(1, len(shares) + 1))],
        [["noticed by SR-LSTM-P", *(f"{share:.0%}" for share in shares)]],
    )


def chosen(rows: Iterable[Row], **key: Any) -> list[Row]:
    return [row for row in rows if all(row["key"][name] == key[name] for name in key)]


def spread(rows: Sequence[Row], mode: str) -> list[str]:
    """Median, least and greatest error of each column."""
    return [between([row["result"]["errors"][mode][name] for row in rows]) for name in COLUMNS]


def between(values: Sequence[float]) -> str:
    middle = three(median(values))
    if len(set(values)) == 1:
        return middle
    return f"{middle} ({three(min(values))}–{three(max(values))})"


def three(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


MEMORY: dict[str, Callable[[], str]] = {
    "parentheses-large": lambda: table_of_models("large"),
    "parentheses-small": lambda: table_of_models("small"),
    "parentheses-states": table_of_states,
    "parentheses-attempts": table_of_attempts,
    "parentheses-drift": table_of_drift,
    "parentheses-cures": table_of_cures,
    "parentheses-machines": table_of_machines,
    "parentheses-proofs": table_of_proofs,
    "counting": table_of_languages,
    "visibly-pushdown": table_of_visibly_pushdown,
    "palindromes": table_of_palindromes,
    "palindromes-remembered": table_of_remembered,
    "palindromes-states": table_of_palindrome_states,
}
