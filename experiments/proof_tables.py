"""The tables of the page about proofs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from page import load, markdown, measured


def provable_counting() -> str:
    rows = sorted(load("provable_counting"), key=lambda row: row["key"]["seed"])
    if not rows:
        return "_No results yet: `python experiments/provable_counting.py`._"
    fresh = [row for row in rows if row["key"]["fresh"]]
    proved = [row for row in fresh if _reached(row["result"])]
    lines = [_seed(row) for row in rows]
    header = ["seed", "errors before, at 20 and 1,000", "after, all six columns", "depth", "length"]
    table = markdown([*header, "drift in steps", "CPU time: train, read, teach, prove"], lines)
    return (
        f"Proved to depth 20 and length 1,000: {len(proved)} of {len(fresh)} fresh seeds.\n\n"
        f"{table}\n\nMeasured on {measured(rows)}."
    )


def _reached(result: dict[str, Any]) -> bool:
    bound = result["bound"]
    return bool(bound) and bound["length"] >= bound["asked"]


def _seed(row: dict[str, Any]) -> list[str]:
    key, result = row["key"], row["result"]
    name = f"{key['seed']}{'' if key['fresh'] else ' (tuned on)'}"
    before = f"{list(result['trained']['soft'].values())[-1]:.3f}"
    if not result["bound"]:
        return [name, before, "", "", result["error"], "", ""]
    bound = result["bound"]
    after = f"{max(max(mode.values()) for mode in result['errors'].values()):.3f} at most"
    seconds = ", ".join(f"{value:.0f}" for value in result["seconds"].values())
    drift = f"{bound['drift']:.2f}"
    return [name, before, after, str(bound["depth"]), str(bound["length"]), drift, f"{seconds} s"]


def plain_gru() -> str:
    rows = load("plain_gru_boxes")
    if not rows:
        return "_No results yet: `python experiments/plain_gru_boxes.py`._"
    lines = []
    for row in sorted(rows, key=lambda row: (row["key"]["width"], row["key"]["grammar"])):
        key, result = row["key"], row["result"]
        tried = result["tried"]
        closed = [f"{t['steps']}, {t['last_symbols']}" for t in tried if t["closed"]]
        lines.append(
            [
                f"Tomita {key['grammar']}, width {key['width']}",
                f"{result['accuracy']:.1%}",
                "; ".join(closed) or "none",
                f"{max(t['rounds'] for t in tried)}",
                f"{max(t['largest_half_width'] for t in tried):.2f}",
                f"{max(t['boxes'] for t in tried)}",
            ]
        )
    header = ["network", "fresh words right", "closes at (m, k)", "most rounds"]
    table = markdown([*header, "widest box around vectors", "boxes at most"], lines)
    return f"{table}\n\nMeasured on {measured(rows)}."


PROOFS: dict[str, Callable[[], str]] = {
    "provable-counting": provable_counting,
    "plain-gru": plain_gru,
}
