"""Tables of speed, from benchmarks/results; each CPU model has its own figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from page import LEARNED_BY, ORIGINS, ROOT, markdown

ROWS = {
    "train": "train step",
    "tokens": "train step from symbols",
    "packed": "train step, packed",
    "inference": "inference",
    "one": "inference, batch of one",
    "threads": "two threads over one (speed-up)",
}
METHODS = {
    "kleene": "`kleene train`",
    "padded": "PyTorch, padded",
    "packed": "PyTorch, packed",
    "grams": "n-grams",
    "fasttext": "fastText",
}
TASKS = {  # the title of a task, and who learned in `kleene train`
    "sms": ("SMS spam", "ngrams"),
    "tomita4": ("Tomita 4", "induced"),
    "logs": ("log sessions", "induced"),
    "newsgroups": ("two newsgroups", "ngrams"),
    "imdb": ("IMDB, every 25th review", "ngrams"),
}


def by_cpu(name: str) -> list[dict[str, Any]]:
    """The results of a benchmark on each CPU model."""
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    return list(json.loads(path.read_text()).values()) if path.exists() else []


def cpu(content: dict[str, Any]) -> str:
    return f"{content['machine']['cpu']} ({content['machine']['capability']})"


def each_cpu(name: str, table: Callable[[Any], str]) -> Callable[[], str]:
    """A table for every CPU model, or a line that says which benchmark fills it."""

    def tables() -> str:
        parts = [f"{table(one['results'])}\n\nMeasured on {cpu(one)}." for one in by_cpu(name)]
        return "\n\n".join(parts) or f"_No results yet: `python benchmarks/{name}.py`._"

    return tables


def recurrent(results: list[dict[str, Any]]) -> str:
    """Train steps and inference as ratios to torch.nn, with the goals."""
    found = {(r["row"], r["cell"], r["shape"]): r for r in results}
    lines = []
    for row, name in ROWS.items():
        for cell in ("LSTM-P", "GRU"):
            shown = [found.get((row, cell, shape)) for shape in "ABCD"]
            if any(shown):
                cells = [_goal(r["ratio"], r["bar"], r["met"]) if r else "" for r in shown]
                lines.append([name, cell, *cells])
            if any(r and "alternating" in r for r in shown):
                cells = [f"{r['alternating']:.2f}" if r else "" for r in shown]
                lines.append([f"{name}, single steps in turns", cell, *cells])
    for cell in ("LSTM-P", "GRU"):
        times = [found.get(("train", cell, shape), {}).get("milliseconds") for shape in "ABC"]
        ratios = [ms["fused"] / ms["products"] for ms in times if ms]
        if ratios:
            cells = [_goal(ratio, 1.2, ratio <= 1.2) for ratio in ratios]
            lines.append(["train step over its matrix products alone", cell, *cells, ""])
    return markdown(["ratio to torch.nn", "cell", "A", "B", "C", "D"], lines)


def _goal(ratio: float, goal: float, met: bool) -> str:
    return f"{ratio:.2f} ({goal:.2f}{'' if met else ' missed'})"


def memory(results: list[dict[str, Any]]) -> str:
    """Peak memory of a train step beside torch.nn's."""
    lines = []
    for r in results:
        theirs, ours = r["torch.nn"], r["fused"]
        peaks = [f"{theirs['peak_mb']:.1f}", f"{ours['peak_mb']:.1f}"]
        both = f"{ours['growth_mb']:.1f} (torch.nn {theirs['growth_mb']:.1f})"
        lines.append([r["cell"], r["shape"], *peaks, both if r["steps"] else ""])
    header = ["peak of a train step", "shape", "torch.nn, MB", "Kleene, MB"]
    return markdown([*header, "growth over 1,000 steps, MB"], lines)


def fits(results: list[dict[str, Any]]) -> str:
    """CPU seconds and accuracy of whole fits."""
    found = {(r["task"], r["method"]): r for r in results}
    lines = []
    for task, (name, origin) in TASKS.items():
        rows = next((r["rows"] for (one, _), r in found.items() if one == task), None)
        if rows is not None:
            cells = [_fit(found.get((task, method))) for method in METHODS]
            lines.append([f"{name}, {rows:,} rows", ORIGINS[origin], *cells])
    return markdown(["CPU-s, accuracy", f"`kleene train` {LEARNED_BY}", *METHODS.values()], lines)


def _fit(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    stopped = "stopped at " if found["stopped"] else ""
    return f"{stopped}{found['cpu_seconds']:.0f} s, {100 * found['accuracy']:.1f} %"


def matcher(results: dict[str, Any]) -> str:
    """Symbols a second of an extracted automaton."""
    lines = [
        [
            name.removeprefix("words_of_").replace("_", " "),
            f"{result['compiled_msymbols_per_s']:.0f} million",
            f"{result['compiled_over_automata_lib']:.0f} x",
            f"{result['compiled_over_re']:.0f} x",
        ]
        for name, result in results.items()
    ]
    return markdown(["length of words", "symbols a second", "over automata-lib", "over re"], lines)


def first_minute(results: dict[str, dict[str, float]]) -> str:
    """CPU seconds of the first commands, and their ratio to `import torch`."""
    lines = []
    for name, found in results.items():
        cells = []
        for cache in ("empty", "warm"):
            seconds = found.get(cache)
            base = results["import torch"]["warm"]
            cells.append("" if seconds is None else f"{seconds:.1f} s ({seconds / base:.1f})")
        lines.append([f"`{name}`", *cells])
    header = ["CPU time (ratio to `import torch`)", "empty kernel cache", "warm kernel cache"]
    return markdown(header, lines)


SPEED: dict[str, Callable[[], str]] = {
    "benchmarks": each_cpu("recurrent", recurrent),
    "memory": each_cpu("memory", memory),
    "fits": each_cpu("fits", fits),
    "matcher": each_cpu("matcher", matcher),
    "first-minute": each_cpu("first_minute", first_minute),
}
