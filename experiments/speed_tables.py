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


def by_cpu(name: str) -> list[dict[str, Any]]:
    """The results of a benchmark on each CPU model."""
    content = read(name) or {}
    return [content] if "machine" in content else list(content.values())


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
            if any(r and "alternating" in r for r in results):
                cells = [f"{r['alternating']:.2f}" if r else "" for r in results]
                lines.append([f"{name}, single steps in turns", cell, *cells])
    for cell in ("LSTM-P", "GRU"):
        results = [found.get(("train", cell, shape)) for shape in "ABC"]
        ratios = [r["milliseconds"]["fused"] / r["milliseconds"]["products"] for r in results if r]
        cells = [_against_bar(ratio, 1.2, ratio <= 1.2) for ratio in ratios]
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
    return f"\n\n{facts['cores']} cores of {_cpu(content)}, load {facts['load']:.1f}."


def where() -> str:
    return "\n\n".join(map(_where_table, by_cpu("where"))) or missing("where")


def _where_table(content: dict[str, Any]) -> str:
    lines = []
    for result in content["results"]:
        ms = result["milliseconds"]
        names = ("torch.nn", "fused", "products", "loops", "around")
        written = [f"{ms[name]:.2f}" for name in names]
        lines.append([ROWS[result["row"]], result["cell"], result["shape"], *written])
    header = ["milliseconds", "cell", "shape", "torch.nn", "Kleene", "its products alone"]
    return markdown([*header, "its compiled loops", "around them"], lines) + _told(content)


def cores() -> str:
    return "\n\n".join(map(_cores_table, by_cpu("cores"))) or missing("cores")


def _cores_table(content: dict[str, Any]) -> str:
    lines = [
        [r["cell"], r["shape"], f"{r['alone ms']:.0f}", f"{r['both ms']:.0f}",
         f"{r['most that two threads can gain']:.2f}"]
        for r in content["results"]
    ]  # fmt: skip
    header = ["half a batch", "shape", "alone, ms", "two processes at once, ms", "speed-up"]
    return markdown(header, lines) + _told(content)


def precision() -> str:
    """Matrix products of inference in float32, bfloat16 and int8."""
    lines = []
    for content in by_cpu("precision"):
        for r in content["results"]:
            ms = r["milliseconds"]
            ratios = [f"{ms[kind] / ms['float32']:.2f}" for kind in ("bfloat16", "int8")]
            has = ", ".join(content["instructions"]) or "none"
            lines.append(
                [_cpu(content), has, r["shape"], str(r["batch"]), f"{ms['float32']:.2f}", *ratios]
            )
    header = ["CPU", "its instructions", "shape", "batch", "float32, ms", "bfloat16 over it"]
    return markdown([*header, "int8 over it"], lines) if lines else missing("precision")


def compile_time() -> str:
    """What compiling costs."""
    lines = [
        [_cpu(c), f"{c['compile_cpu_seconds']:.1f}", f"{c['load_cpu_seconds']:.2f}",
         f"{c['cache_mb']:.1f}", str(c.get("cpp_cpu_seconds") or "")]
        for c in by_cpu("compile_time")
    ]  # fmt: skip
    header = ["CPU", "compiling, CPU-s, once", "loading, CPU-s, each start", "cache, MB"]
    header.append("g++ on torch's headers alone, CPU-s")
    return markdown(header, lines) if lines else missing("compile_time")


METHODS = {
    "kleene": "`kleene train`",
    "padded": "PyTorch, padded",
    "packed": "PyTorch, packed",
    "grams": "n-grams",
    "fasttext": "fastText",
}
TASKS = {
    "sms": "SMS spam",
    "tomita4": "Tomita 4",
    "logs": "log sessions",
    "newsgroups": "two newsgroups",
    "imdb": "IMDB, every 25th review",
}


def fits() -> str:
    """CPU seconds and accuracy of whole fits."""
    parts = []
    for content in by_cpu("fits"):
        found = {(r["task"], r["method"]): r for r in content["results"]}
        lines = []
        for task, name in TASKS.items():
            rows = next((r["rows"] for (t, _), r in found.items() if t == task), None)
            if rows is not None:
                cells = [_fit(found.get((task, method))) for method in METHODS]
                lines.append([f"{name}, {rows:,} rows", *cells])
        if lines:
            table = markdown(["CPU-s, accuracy", *METHODS.values()], lines)
            parts.append(f"{table}\n\nOne core of {_cpu(content)}.")
    return "\n\n".join(parts) or missing("fits")


def _fit(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    more = "stopped at " if found["stopped"] else ""
    return f"{more}{found['cpu_seconds']:.0f} s, {100 * found['accuracy']:.1f} %"


def _cpu(content: dict[str, Any]) -> str:
    return f"{content['machine']['cpu']} ({content['machine']['capability']})"


def memory() -> str:
    return "\n\n".join(map(_memory_table, by_cpu("memory"))) or missing("memory")


def _memory_table(content: dict[str, Any]) -> str:
    lines = []
    for r in content["results"]:
        theirs, ours = r["torch.nn"], r["fused"]
        grown = (
            f"{ours['growth_mb']:.1f} (torch.nn {theirs['growth_mb']:.1f})" if r["steps"] else ""
        )
        peaks = [f"{theirs['peak_mb']:.1f}", f"{ours['peak_mb']:.1f}"]
        lines.append([r["cell"], r["shape"], *peaks, grown])
    header = ["peak of a train step", "shape", "torch.nn, MB", "Kleene, MB"]
    table = markdown([*header, "growth over 1,000 steps, MB"], lines)
    return f"{table}\n\nMeasured on {_cpu(content)}."


def end_to_end() -> str:
    lines = [
        [_cpu(c), name, f"{1000 * seconds / c['texts']:.0f} s", f"{c['ratio'][name]:.2f}"]
        for c in by_cpu("end_to_end")
        for name, seconds in c["seconds_per_epoch"].items()
    ]
    header = ["CPU", "text classifier", "CPU time for 1,000 texts", "ratio"]
    return markdown(header, lines) if lines else missing("end_to_end")


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
    table = markdown([*header, "CPU ms a request", "ms after slow clients leave"], lines)
    if faults is None:
        return table
    ratio, goal = faults["ratio p99"], 3
    verdict = "met" if ratio <= goal else "missed"
    beside = f"{ratio:g} times that of the quiet blocks between (goal: {goal}, {verdict})"
    return f"{table}\n\nThe p99 beside clients that misbehave is {beside}."


SPEED: dict[str, Callable[[], str]] = {
    "matcher": matcher,
    "benchmarks": recurrent,
    "where": where,
    "cores": cores,
    "memory": memory,
    "end-to-end": end_to_end,
    "fits": fits,
    "precision": precision,
    "compile-time": compile_time,
    "serving": serving,
    "startup": startup,
}
