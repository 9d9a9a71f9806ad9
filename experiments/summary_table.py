"""The one table of README.md: a line per kind of task, from the results on disk."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import mean, median
from typing import Any

from induction_tables import fresh_languages
from own_languages import FRESH, TESTS
from page import load, markdown, measured
from speed_tables import read

HEADER = ("task", "Kleene", "beside it", "run", "measured")


def summary() -> str:
    """Every line whose experiment has been run."""
    lines = [line for make in LINES if (line := make()) is not None]
    return markdown(HEADER, lines)


def _tomita() -> list[str] | None:
    rows = load("tomita")
    results = [row["result"] for row in rows]
    if not results:
        return None
    exact = sum(r["exact"] for r in results)
    proved = sum(r["certified"] for r in results)
    control = sum(r["control_exact"] for r in results)
    seconds = median(r["fit_seconds"] for r in results)
    ours = f"{exact} exact, {proved} proved for all words, {seconds:.1f} CPU-s a fit"
    beside = f"GRU + k-means: {control} exact, none proved"
    return [
        f"Tomita 1-7, {len(results)} fits *(tuned on)*",
        ours,
        beside,
        "`experiments/reproduce.py tomita`",
        measured(rows),
    ]


def _length_generalisation() -> list[str] | None:
    rows = load("length_generalisation")
    results = [row["result"] for row in rows]
    if not results:
        return None
    tasks = len({row["key"]["task"] for row in rows})
    exact = sum(r["exact"] for r in results)
    proved = sum(r["exact"] and r["certified"] for r in results)
    longest = min(r["accuracy"]["10,000"] for r in results)
    ours = f"{exact} exact, {proved} proved; lowest accuracy at length 10,000: {longest:.0%}"
    return [
        f"length generalisation, {tasks} tasks, {len(results)} fits on words up to length 40",
        ours,
        "in the literature, four of them at length 40-256: LSTM 100 %, Mamba 61 %",
        "`experiments/length_generalisation.py`",
        measured(rows),
    ]


def _networks() -> list[str] | None:
    rows = load("read_networks")
    stock = [r["result"] for r in rows if r["key"]["network"].startswith("tomita")]
    has = [r for r in stock if r["network_has_language"]]
    if not has:
        return None
    seconds = max(r["read_cpu_seconds"] for r in has)
    exact = sum(r["exact"] for r in has)
    ours = f"{exact} of {len(has)} read as exactly the language, at most {seconds:.1f} CPU-s"
    script = "`experiments/read_networks.py`"
    return ["stock `nn.GRU`, `nn.LSTM` on Tomita", ours, "", script, measured(rows)]


def _mlregtest() -> list[str] | None:
    tests = ("TestSR", "TestSA", "TestLR", "TestLA")
    by_method = {}
    for method in ("kleene", "gru"):
        results = [
            row["result"]
            for row in load("mlregtest")
            if row["key"]["method"] == method and row["result"].get("archive") == "dev20"
        ]
        if not results:
            return None
        by_method[method] = _four_tests(results, tests)
    task = (
        "MLRegTest, 20 languages *(four of them looked at, all scored more than once)*: "
        "short, adversarial, long, both"
    )
    script = "`experiments/mlregtest.py --archive dev20`"
    day = measured(row for row in load("mlregtest") if row["result"].get("archive") == "dev20")
    return [task, by_method["kleene"], f"plain GRU {by_method['gru']}", script, day]


def _four_tests(results: list[dict[str, Any]], tests: Sequence[str]) -> str:
    means = " / ".join(f"{mean(r[test] for r in results):.3f}".lstrip("0") for test in tests)
    perfect = sum(all(r[test] == 1 for test in tests) for r in results)
    return f"{means}, {perfect} of {len(results)} perfect"


def _own_languages(width: int) -> list[str] | None:
    rows = {method: fresh_languages(width, method) for method in ("fit", "gru")}
    if not rows["fit"]:
        return None
    ours, plain = (
        _four_tests([row["result"] for row in found], TESTS) if found else ""
        for found in rows.values()
    )
    task = f"languages of such classes over {width} symbols, made here, *not tuned on*"
    script = f"`experiments/own_languages.py --symbols {width} --methods fit,gru --seed {FRESH}`"
    return [task, ours, f"plain GRU {plain}" if plain else "", script, measured(rows["fit"])]


def _logs() -> list[str] | None:
    logs = [row for row in load("induction") if row["key"]["part"] == "logs"]
    rows = [row for row in logs if row["key"]["run"] == "fit"]
    ngrams = [row["result"]["accuracy"] for row in logs if row["key"]["run"] == "n-grams"]
    if not rows:
        return None
    accuracy = median(row["result"]["accuracy"] for row in rows)
    states = max(row["result"]["states"] for row in rows)
    seconds = max(row["cpu_seconds"] for row in rows)
    ours = f"{accuracy:.2%}, at most {states} states and {seconds:.0f} CPU-s"
    task = "12,000 log sessions *(tuned on)*, accuracy on 2,000 others"
    beside = f"n-grams {median(ngrams):.2%}" if ngrams else ""
    return [task, ours, beside, "`experiments/induction.py logs`", measured(rows)]


def _errors(name: str, row: str, title: str, plain: str, paper: float) -> list[str] | None:
    rows = load(name)

    def of(which: str) -> list[float]:
        keys: dict[str, Any] = {"row": which, "scale": "small"}
        return [r["result"]["test_error"] for r in rows if keys.items() <= r["key"].items()]

    if not of(row):
        return None
    beside = f"plain {plain} {median(of(plain)):.1f} %, " if of(plain) else ""
    runs = "one run" if len(of(row)) == 1 else f"median of {len(of(row))}"
    ours = f"{median(of(row)):.1f} % error ({runs})"
    day = measured(r for r in rows if r["key"]["row"] == row and r["key"]["scale"] == "small")
    return [
        title,
        ours,
        f"{beside}the paper {paper:.1f} %",
        f"`experiments/reproduce.py {name}`",
        day,
    ]


def _speed(cell: str, peer: str) -> list[str] | None:
    """Train steps as ratios to torch.nn, for every CPU model they were measured on."""
    parts, days = [], []
    for table in (read("recurrent") or {}).values():
        rows = [r for r in table["results"] if r["row"] == "train" and r["cell"] == cell]
        ratios = " / ".join(f"{r['ratio']:.2f}" for r in rows)
        facts = table["machine"]
        parts.append(f"{ratios} ({facts['cpu']}, {facts['capability']})")
        days.append(facts["date"])
    if not parts:
        return None
    task = f"a train step over `{peer}`'s, four shapes"
    return [task, "; ".join(parts), "1", "`benchmarks/recurrent.py`", max(days)]


LINES = (
    _tomita,
    _length_generalisation,
    _mlregtest,
    *(partial(_own_languages, width) for width in (4, 16, 64)),
    _logs,
    _networks,
    lambda: _errors(
        "imdb", "SR-LSTM-P states", "IMDB reviews, states that have meaning", "LSTM", 9.2
    ),
    lambda: _errors("imdb", "SR-LSTM-P", "IMDB reviews, opaque", "LSTM", 9.2),
    lambda: _errors(
        "newsgroups", "SR-LSTM-P states", "20 Newsgroups, states that have meaning", "LSTM", 14.4
    ),
    lambda: _errors("newsgroups", "SR-LSTM-P", "20 Newsgroups, opaque", "LSTM", 14.4),
    lambda: _errors("mnist", "SR-LSTM-P", "MNIST in 196 steps", "LSTM-P", 0.8),
    lambda: _speed("LSTM-P", "nn.LSTM"),
    lambda: _speed("GRU", "nn.GRU"),
)
