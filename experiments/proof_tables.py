"""Tables of what checks the proofs: times, mutations, doors and errors of functions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from page import ROOT, markdown

RESULTS = ROOT / "experiments" / "results"
SPEED = ROOT / "benchmarks" / "results" / "verifying.json"


def read(name: str) -> Any:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def times() -> str:
    rows = [
        [row["proof"], *(f"{row[key]:.2g} s" for key in ("certify", "verify", "verify_exact"))]
        for row in json.loads(SPEED.read_text())["rows"]
    ]
    return markdown(["CPU time", "`certify`", "`verify`", "`verify --exact`"], rows)


def arithmetics() -> str:
    rows = json.loads(SPEED.read_text())["arithmetics"][1:]
    told = [
        f"{row['arithmetic']} {1000 * row['product']:,.1f} and {1000 * row['sigmoid']:,.1f} ms"
        for row in rows
    ]
    return f"A product of 64 x 40 with 40 x 120 numbers, and 7,680 sigmoids: {'; '.join(told)}."


def mutations() -> str:
    """How many of the mutations of each file were killed."""
    rows = [row for row in read("mutations").get("mutations", ()) if not row["attack"]]
    files = list(dict.fromkeys(row["file"] for row in rows))
    counted = {file: [row["killed"] for row in rows if row["file"] == file] for file in files}
    lines = [[f"`{file}`", f"{sum(found)} of {len(found)}"] for file, found in counted.items()]
    return markdown(["broken", "killed"], lines)


def repairs() -> str:
    """The mutations that undo a repair, by attack."""
    rows = [row for row in read("mutations").get("mutations", ()) if row["attack"]]
    lines = [
        [str(row["attack"]), f"`{row['file']}`: {row['mutation']}", f"`{row['test']}`",
         "fails" if row["killed"] else "PASSES"]
        for row in rows
    ]  # fmt: skip
    return markdown(["attack", "repair undone", "its test", "then"], lines)


def doors() -> str:
    found = read("fuzz")["doors"]
    names = ("python", "command", "table", "web", "onnx", "c", "exact")
    asked = ", ".join(f"{name} {found[name]:,}" for name in names)
    return (
        f"{found['cases']:,} certified models, {len(found['faults'])} wrong answers ({asked}); "
        f"{found['cpu_seconds']:,} s of CPU time, {found['finished'][:10]}."
    )


def functions() -> str:
    """The largest error of each function with any CPU features, beside its bound."""
    found = read("functions")
    names = found["bounds"]
    worst = {
        name: max(
            errors[name]
            for ways in found["errors"].values()
            for errors in ways.values()
            if name in errors
        )
        for name in names
    }
    rows = [[name, f"{worst[name]:.2e}", f"{names[name]:.2e}"] for name in names]
    table = markdown(["function", "largest error", "bound in proofs"], rows)
    return f"{table}\n\nMeasured with {', '.join(found['errors'])}; torch {found['torch']}."


PROOFS: dict[str, Callable[[], str]] = {
    "proof-times": times,
    "exact-arithmetics": arithmetics,
    "proof-mutations": mutations,
    "repairs": repairs,
    "doors": doors,
    "function-errors": functions,
}
