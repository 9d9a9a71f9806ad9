"""Interleaved timing: all variants of a row in turns, in one process; medians."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import torch

from kleene.files import write_atomically

RESULTS = Path(__file__).parent / "results"
BLOCK = 0.02
"""Seconds of a timing block: a variant runs this long before the next one has its turn, as in
training, where the same step follows itself, and as in `torch.utils.benchmark`."""


def interleave(
    variants: dict[str, Callable[[], object]],
    seconds: float,
    clock: Callable[[], float],
    block: float = BLOCK,
) -> dict[str, float]:
    """Median seconds of each variant; one round runs every variant for a timing block, or once.

    With a block of no length, single calls alternate.
    """
    calls: dict[str, int] = {}
    for name, run in variants.items():
        run()
        start = perf_counter()
        run()
        calls[name] = max(1, int(block / (perf_counter() - start)))
    taken: dict[str, list[float]] = {name: [] for name in variants}
    end = perf_counter() + seconds
    while perf_counter() < end or len(next(iter(taken.values()))) < 3:
        for name, run in variants.items():
            start = clock()
            for _ in range(calls[name]):
                run()
            taken[name].append((clock() - start) / calls[name])
    return {name: statistics.median(times) for name, times in taken.items()}


def machine() -> dict[str, object]:
    """The facts about the machine that results depend on."""
    model = "unknown"
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":")[1].strip() if names else model
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "load": os.getloadavg()[0],
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }


def processor() -> str:
    """The CPU's model name and its vector instructions: results of one never replace another's."""
    facts = machine()
    return f"{facts['cpu']}, {facts['capability']}"


def write(name: str, results: object, **more: object) -> None:
    """Results with the machine's facts, in results/NAME.json; other CPU models have their own."""
    path = RESULTS / f"{name}.json"
    tables = json.loads(path.read_text()) if path.exists() else {}
    tables[processor()] = {"machine": machine(), "results": results, **more}
    write_results(path, tables)


def write_results(path: Path, content: dict[str, object]) -> None:
    """Write a file of results, all of it or nothing."""
    write_atomically(path, json.dumps(content, indent=1) + "\n")
