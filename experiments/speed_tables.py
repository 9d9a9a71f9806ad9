"""Tables of speed, from benchmarks/results."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from page import ROOT, markdown

ROWS = {
    "train": "train step",
    "tokens": "train step from symbols",
    "packed": "train step, packed",
    "inference": "inference",
    "one": "inference, batch of one",
    "threads": "two threads over one (speed-up)",
}


def read(name: str) -> dict[str, Any] | None:
    """The results of a benchmark."""
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def missing(name: str) -> str:
    """What stands in the place of a table that has no results yet."""
    return f"_No results yet: `python benchmarks/{name}.py`._"


def matcher() -> str:
    content = read("matcher")
    if content is None:
        return missing("matcher")
    lines = []
    for name, result in content.items():
        if name.startswith("words_of") and isinstance(result, dict):
            lines.append(
                [
                    name.removeprefix("words_of_").replace("_", " "),
                    f"{result['compiled_msymbols_per_s']:.0f} million",
                    f"{result['compiled_over_automata_lib']:.0f} x",
                    f"{result['compiled_over_re']:.0f} x",
                ]
            )
    return markdown(["length of words", "symbols a second", "over automata-lib", "over re"], lines)


def recurrent() -> str:
    tables = read("recurrent")
    if tables is None:
        return missing("recurrent")
    parts = []
    for content in tables.values():
        facts = content["machine"]
        about = f"{facts['cores']} cores of {facts['cpu']} ({facts['capability']})"
        parts.append(f"{about}, load {facts['load']:.1f}:\n\n{_recurrent_table(content)}")
    return "\n\n".join(parts)


def _recurrent_table(content: dict[str, Any]) -> str:
    found = {(r["row"], r["cell"], r["shape"]): r for r in content["results"]}
    lines = []
    for row, name in ROWS.items():
        for cell in ("LSTM-P", "GRU"):
            results = [found.get((row, cell, shape)) for shape in "ABCD"]
            if any(results):
                cells = [_against_bar(r["ratio"], r["bar"], r["met"]) if r else "" for r in results]
                lines.append([name, cell, *cells])
    for cell in ("LSTM-P", "GRU"):
        results = [found.get(("train", cell, shape)) for shape in "ABC"]
        ratios = [r["milliseconds"]["fused"] / r["milliseconds"]["products"] for r in results if r]
        cells = [_against_bar(ratio, 1.3, ratio <= 1.3) for ratio in ratios]
        if cells:
            lines.append(["train step over its matrix products alone", cell, *cells, ""])
    return markdown(["ratio to torch.nn", "cell", "A", "B", "C", "D"], lines)


def startup() -> str:
    tables = read("startup")
    if tables is None:
        return missing("startup")
    lines = []
    for cpu, table in tables.items():
        for label, found in table.items():
            ratios = [f"{found['ratio'][name]:.2f}" for name in ("predict", "explain", "evaluate")]
            lines.append([cpu, label, f"{found['cpu_seconds']['import torch']:.2f}", *ratios])
    header = ["CPU", "version", "`import torch`, CPU-s", "predict", "explain", "evaluate"]
    return markdown(header, lines)


def _against_bar(ratio: float, bar: float, met: bool) -> str:
    return f"{ratio:.2f} ({bar:.2f}{'' if met else ' missed'})"


def _told(content: dict[str, Any]) -> str:
    facts = content["machine"]
    return f"\n\n{facts['cores']} cores of {facts['cpu']}, load {facts['load']:.1f}."


def where() -> str:
    content = read("where")
    if content is None:
        return missing("where")
    lines = []
    for result in content["results"]:
        ms = result["milliseconds"]
        names = ("torch.nn", "fused", "products", "loops", "around")
        written = [f"{ms[name]:.2f}" for name in names]
        lines.append([ROWS[result["row"]], result["cell"], result["shape"], *written])
    header = ["milliseconds", "cell", "shape", "torch.nn", "Kleene", "its products alone"]
    return markdown([*header, "its compiled loops", "around them"], lines) + _told(content)


def cores() -> str:
    content = read("cores")
    if content is None:
        return missing("cores")
    lines = [
        [r["cell"], r["shape"], f"{r['alone ms']:.0f}", f"{r['both ms']:.0f}",
         f"{r['most that two threads can gain']:.2f}"]
        for r in content["results"]
    ]  # fmt: skip
    header = ["half a batch", "shape", "alone, ms", "two processes at once, ms", "speed-up"]
    return markdown(header, lines) + _told(content)


def memory() -> str:
    content = read("memory")
    if content is None:
        return missing("memory")
    lines = []
    for r in content["results"]:
        theirs, ours = r["torch.nn"], r["fused"]
        grown = (
            f"{ours['growth_mb']:.1f} (torch.nn {theirs['growth_mb']:.1f})" if r["steps"] else ""
        )
        peaks = [f"{theirs['peak_mb']:.1f}", f"{ours['peak_mb']:.1f}"]
        lines.append([r["cell"], r["shape"], *peaks, grown])
    header = ["peak of a train step", "shape", "torch.nn, MB", "Kleene, MB"]
    return markdown([*header, "growth over 1,000 steps, MB"], lines)


def end_to_end() -> str:
    content = read("end_to_end")
    if content is None:
        return missing("end_to_end")
    lines = [
        [name, f"{1000 * seconds / content['texts']:.0f} s", f"{content['ratio'][name]:.2f}"]
        for name, seconds in content["seconds_per_epoch"].items()
    ]
    return markdown(["text classifier", "CPU time for 1,000 texts", "ratio"], lines)


def serving() -> str:
    content = read("serving")
    if content is None:
        return missing("serving")
    figures = ("a second", "errors", "p50", "p99", "cpu ms a request", "after slow clients")
    measured = {
        name: content[name]
        for name in ("echo", "kleene", "kleene, beside 16 full batches")
        if name in content
    }
    if (faults := read("serving_faults")) is not None:
        measured["kleene, quiet, in turns with the next"] = faults["quiet"]
        measured["kleene, beside half heads, hang-ups, bombs and uploads"] = faults["faulty"]
    lines = [
        [name, *(f"{found[figure]:g}" if figure in found else "" for figure in figures)]
        for name, found in measured.items()
    ]
    header = ["16 connections, one core", "requests a second", "errors", "p50, ms", "p99, ms"]
    return markdown([*header, "CPU ms a request", "ms after slow clients leave"], lines)


SPEED: dict[str, Callable[[], str]] = {
    "matcher": matcher,
    "benchmarks": recurrent,
    "where": where,
    "cores": cores,
    "memory": memory,
    "end-to-end": end_to_end,
    "serving": serving,
    "startup": startup,
}
