"""The tables of label noise and of uncertainty."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean
from typing import Any

from page import load, markdown, measured

GROUPS = {"Tomita 1-7": "Tomita", "MLRegTest": "0"}
METHODS = {"kleene": "Kleene's automaton", "rpni": "RPNI", "edsm": "EDSM"}
NOISES = {"softmax": "plain softmax", "states": "drawn states", "dropout": "dropout left on"}


def noise() -> str:
    rows = load("noise")
    if not rows:
        return "_No results yet: `python experiments/noise.py`._"
    levels = sorted({row["key"]["noise"] for row in rows})
    lines = []
    for group, prefix in GROUPS.items():
        for method, name in METHODS.items():
            cells = [
                _recovered(
                    [
                        row["result"]
                        for row in rows
                        if row["key"]["task"].startswith(prefix)
                        and row["key"]["method"] == method
                        and row["key"]["noise"] == level
                    ]
                )
                for level in levels
            ]
            if any(cells):
                lines.append([group, name, *cells])
    header = ["languages", "method", *(f"{100 * x:g} % flipped" for x in levels)]
    return f"{markdown(header, lines)}\n\nMeasured on {measured(rows)}."


def _recovered(results: list[dict[str, Any]]) -> str:
    if not results:
        return ""
    exact = f"{sum(result['exact'] for result in results)} of {len(results)}"
    known = [result["accuracy"] for result in results if result["accuracy"] is not None]
    shown = f"{exact}, {mean(known):.3f}" if known else exact
    stopped = len(results) - len(known)
    return f"{shown} ({stopped} stopped)" if stopped else shown


def uncertainty() -> str:
    rows = load("uncertainty")
    if not rows:
        return "_No results yet: `python experiments/uncertainty.py`._"
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        key = row["key"]
        found.setdefault((key["scale"], key["row"], key["noise"]), []).append(row["result"])
    lines = [
        [
            f"{network} ({scale})",
            NOISES[source],
            str(len(results)),
            *(
                _mean(results, name)
                for name in (
                    "accuracy",
                    "loss",
                    "calibration_error",
                    "auroc_own_mistakes",
                    "auroc_entropy",
                    "auroc_mutual_information",
                )
            ),
        ]
        for (scale, network, source), results in found.items()
    ]
    header = [
        "network (scale)",
        "source of doubt",
        "seeds",
        "accuracy",
        "loss",
        "calibration error",
    ]
    more = ["own mistakes", "other texts, by entropy", "other texts, by mutual information"]
    return markdown([*header, *more], lines)


def _mean(results: list[dict[str, Any]], name: str) -> str:
    values = [result[name] for result in results if result[name] is not None]
    return f"{mean(values):.3f}" if values else ""


TRUST: dict[str, Callable[[], str]] = {"noise": noise, "uncertainty": uncertainty}
