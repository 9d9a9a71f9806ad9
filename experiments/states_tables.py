"""Tables of what states cost, from states_accuracy, motif_states and reconstruction in results."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean
from typing import Any

from page import load, markdown

DATA = {
    "tomita": "Tomita 5, 5 % of the labels flipped",
    "names": "names of two classes",
    "stem names": "names of stems and endings",
    "motifs": "motifs at a fixed place",
    "sites": "sites of weighted letters",
    "logs": "log sessions",
    "sms": "SMS spam",
    "newsgroups": "two newsgroups",
    "imdb": "IMDB, 5,000 reviews of 200 tokens",
}
COLUMNS = ["data", "rows", "seeds", "n-grams", "plain cell", "`fit`", "kept", "states", "CPU s"]
WAYS = ("mixture", "straight-through", "straight-through, metric of the gradients")


def states_accuracy() -> str:
    """A line for each data set, means over the seeds; MNIST from its reproduction."""
    found = load("states_accuracy")
    lines = []
    for name, title in DATA.items():
        results = [row["result"] for row in found if row["key"]["data"] == name]
        if results:
            lines.append(_line(title, results))
        else:
            lines.append([title, *["not measured"] * (len(COLUMNS) - 1)])
    return markdown(COLUMNS, [*lines, _mnist()])


def _line(title: str, results: list[dict[str, Any]]) -> list[str]:
    accuracies = [_percent(mean(run[name] for run in results)) for name in NAMES]
    kept = ", ".join(dict.fromkeys(_kept(run) for run in results))
    states = ", ".join(str(run["states"]) for run in results)
    seconds = f"{mean(run['fit_seconds'] for run in results):.0f}"
    return [
        title,
        f"{results[0]['rows']:,}",
        str(len(results)),
        *accuracies,
        kept,
        states,
        seconds,
    ]


NAMES = ("ngrams", "plain", "fit")


def _kept(run: dict[str, Any]) -> str:
    return "states with memory" if run["kept"] == "states" and run["memory"] else str(run["kept"])


def _mnist() -> list[str]:
    rows = [row for row in load("mnist") if row["key"]["scale"] == "small"]
    plain, ours = (
        [row for row in rows if row["key"]["row"] == name] for name in ("LSTM-P", "SR-LSTM-P")
    )
    accuracies = [
        _percent(1 - mean(row["result"]["test_error"] for row in found) / 100)
        for found in (plain, ours)
    ]
    states = ours[0].get("recipe", {}).get("network", {}).get("num_states", 50)
    seconds = f"{mean(row['cpu_seconds'] for row in ours):.0f}"
    title = "MNIST, 196 pixels (`experiments/reproduce.py mnist`)"
    kept = "states with memory"
    return [title, "54,000", str(len(ours)), "-", *accuracies, kept, str(states), seconds]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def motif_states() -> str:
    """Ways to give a trained GRU states, on motifs of 30 letters."""
    rows = [row for row in load("motif_states") if row["key"]["length"] == 30]
    found = {
        (row["key"]["cell"], row["key"]["states"], row["key"]["way"]): row["result"] for row in rows
    }
    lines = [
        [str(count), *(_percent(found["gru", count, way]["accuracy"]) for way in WAYS)]
        for count in (20, 64, 256)
    ]
    plain = _percent(found["gru", 0, "plain cell"]["accuracy"])
    return markdown(["states", *WAYS], [*lines, ["none (plain cell)", plain, "", ""]])


def reconstruction() -> str:
    """What a trained LSTM-P keeps when it is given centroids."""
    found = {tuple(row["key"].values()): row["result"] for row in load("reconstruction")}
    columns = ["centroids", "temperature", "by k-means", "by reconstruction", "perplexity"]
    if not found:
        return markdown(columns, [["not measured"] * len(columns)])
    lines = []
    for states, temperature in sorted({key[:2] for key in found if key[0]}):
        ours = found[states, temperature, "reconstruction"]
        kmeans = _percent(found[states, temperature, "k-means"]["accuracy"])
        kept = [kmeans, _percent(ours["accuracy"]), f"{ours['perplexity']:.1f}"]
        lines.append([str(states), f"{temperature:g}", *kept])
    plain = _percent(found[0, None, "plain cell"]["accuracy"])
    return markdown(columns, [*lines, ["none (plain cell)", "", plain, plain, ""]])


STATES: dict[str, Callable[[], str]] = {
    "states-accuracy": states_accuracy,
    "motif-states": motif_states,
    "reconstruction": reconstruction,
}
