"""Peak memory of a train step against torch.nn, and whether it grows over 1,000 steps.

    python benchmarks/memory.py

Every variant runs in a process of its own; writes results/memory.json, a table for each CPU model.
"""

from __future__ import annotations

import multiprocessing
import resource

import torch
from peers import SHAPES, network, peer
from recurrent import trained
from timing import write


def peak(cell: str, shape: str, ours: bool, steps: int) -> tuple[float, float]:
    """Megabytes of a few train steps beyond an idle process, and what `steps` more add."""
    T, B, d, k, n = SHAPES[shape]
    torch.set_num_threads(1)
    module = network(cell, d, k, n) if ours else peer(cell, d, n)
    small, x = torch.randn(2, 1, n), torch.randn(T, B, n)
    trained(module, lambda: module(small)[0])()
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step = trained(module, lambda: module(x)[0])
    for _ in range(3):
        step()
    first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(steps):
        step()
    last = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (first - idle) / 1024, (last - first) / 1024


def main() -> None:
    context = multiprocessing.get_context("spawn")
    results = []
    for cell in ("LSTM-P", "GRU"):
        for shape, steps in (("A", 0), ("C", 0), ("D", 1000)):
            row: dict[str, object] = {"cell": cell, "shape": shape, "steps": steps}
            for name, ours in (("fused", True), ("torch.nn", False)):
                with context.Pool(1) as pool:
                    used, grown = pool.apply(peak, (cell, shape, ours, steps))
                row[name] = {"peak_mb": round(used, 1), "growth_mb": round(grown, 1)}
            results.append(row)
            print(row, flush=True)
            write("memory", results)


if __name__ == "__main__":
    main()
